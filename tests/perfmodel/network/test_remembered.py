"""Tests of perfmodel.network.remembered."""

import gc
import weakref

from perfmodel.network.remembered import MOST, Remembered
from perfmodel.topology.parse import parse_topology


def test_results_are_made_once_and_the_oldest_one_is_dropped() -> None:
    topology, made = parse_topology("mesh:2x2"), list[int]()
    remembered: Remembered[int, int] = Remembered()

    def result(key: int) -> int:
        return remembered.of(topology, key, lambda: made.append(key) or 2 * key)

    assert [result(key) for key in (1, 2, 1)] == [2, 4, 2]
    assert made == [1, 2]
    for key in range(3, MOST + 2):
        result(key)
    made.clear()
    assert (result(2), result(1), made) == (4, 2, [1])


def test_topologies_are_not_kept() -> None:
    topology = parse_topology("mesh:2x2")
    remembered: Remembered[str, int] = Remembered()
    assert remembered.of(topology, "a", lambda: 1) == 1
    assert remembered.of(parse_topology("mesh:2x2"), "a", lambda: 2) == 2
    gone = weakref.ref(topology)
    del topology
    gc.collect()
    assert gone() is None
