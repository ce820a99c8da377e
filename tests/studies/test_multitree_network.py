"""Tests of studies.multitree_network."""

from itertools import pairwise

import pytest

from perfmodel.published_multitree import ALL_REDUCE_CYCLES
from perfmodel.topology.parse import parse_topology
from studies.multitree_network import Flow, all_reduce_cycles
from studies.reproduce import reproduce

PAIR = [Flow(0, ((1, 0, 0),)), Flow(1, ((0, 1, 0),))]
STEP = 2 + 7 + 150 + 7  # an interface begins, and the head passes three links


@pytest.mark.parametrize(("packets", "heads_once"), [(1, False), (4, False), (4, True)])
def test_two_nodes_exchange_halves_twice(packets: int, heads_once: bool) -> None:
    flits = 16 * packets + (1 if heads_once else packets)
    sums = 2 * packets  # 128 B in a cycle
    cycles = all_reduce_cycles(
        parse_topology("mesh:2x1"), PAIR, 256 * packets, heads_once=heads_once
    )
    # A cycle to begin the sum, and one to begin the gathering after it.
    assert cycles == (STEP + flits - 1) + 1 + sums + 1 + (STEP + flits - 1)


def test_chunks_on_one_link_follow_each_other() -> None:
    pair = parse_topology("mesh:2x1")
    alone = all_reduce_cycles(pair, PAIR, 256)
    both = all_reduce_cycles(pair, [*PAIR, *PAIR], 256)
    assert alone + 17 <= both <= alone + 2 * 17 + 3


def test_one_interface_sends_one_chunk_after_the_other() -> None:
    mesh = parse_topology("mesh:3x3")
    flows = [Flow(4, tuple((child, 4, 0) for child in (1, 3, 5, 7)))]
    slow, fast = (all_reduce_cycles(mesh, flows, 4096, interfaces=count) for count in (1, 4))
    assert slow >= fast + 3 * 17 * 16


def test_algorithms_are_in_the_order_of_the_published_simulator() -> None:
    ours = {row.id: float(row.model) for row in reproduce(["multitree"])}
    for topology, kib in {key[:2]: None for key in ALL_REDUCE_CYCLES}:
        figures = {
            f"multitree/{topology}/{kib}-kib/{key[2]}": figure.value
            for key, figure in ALL_REDUCE_CYCLES.items()
            if key[:2] == (topology, kib)
        }
        order = sorted(figures, key=figures.__getitem__)
        assert all(ours[one] < ours[other] for one, other in pairwise(order)), (topology, kib)
