"""Tests of perfmodel.network.packet.rounds: groups one behind the other, and what tells them."""

from functools import cache

import pytest

from perfmodel.network.packet.rounds import Told, rounds_s
from perfmodel.network.run import run_collectives
from perfmodel.switch_timing.record import RECORDS
from perfmodel.topology.fred import FredTopology
from perfmodel.topology.parse import parse_topology
from studies.rtl_plane import load_plane_cycles, plane_topology

GROUPS = [[k, 4 + k, 8 + k, 12 + k, 16 + k] for k in range(4)]
TURNS = [Told((4 * s + k,), (4 * s + k + 1,)) for k in range(3) for s in range(5)]
ENDS = [Told((4 * s + 3,), (4 * s, 4 * s + 1, 4 * s + 2)) for s in range(5)]


@cache
def narrow() -> FredTopology:
    return plane_topology(load_plane_cycles(RECORDS / "wafer-20-b.json"), in_network=True)


def alone_s(size: float, group: list[int]) -> float:
    one = run_collectives(
        narrow(), "all_reduce", size, [group], algorithm="published", network_model="packet"
    )
    return one.time_s


def cycles(seconds: float) -> float:
    endpoint = narrow().endpoint
    assert endpoint is not None
    return seconds * endpoint.clock.hz


def test_a_group_alone_has_no_rounds() -> None:
    size = 512 * 128.0
    assert rounds_s(narrow(), "all_reduce", size, GROUPS[:1], [], []) == pytest.approx(
        alone_s(size, GROUPS[0])
    )


def test_between_two_groups_are_an_ack_a_flit_and_two_descriptors() -> None:
    """Worked by hand from the records: links of 24 cycles, L1s and L2 of 25, memory of 40."""
    size = 512 * 128.0
    two = rounds_s(narrow(), "all_reduce", size, GROUPS[:2], TURNS[:5], [])
    one = alone_s(size, GROUPS[0])
    record = narrow().endpoint
    assert record is not None
    measured = record.record.endpoint
    back = 4 * 24 + 3 * 25
    acked = back + measured.ack_cycles - 16  # whole intervals of packets wait for no pause
    # A flit is read, and its packet is seven flits shorter than those of the record.
    flit = measured.next_cycles + 40 + 1 - 7 + 2 * 24 + 25
    received = measured.received_cycles + 40
    less = measured.start_cycles + 40 + measured.finish_cycles  # of the second one
    wanted = 2 * cycles(one) + acked + flit + received - less
    assert cycles(two) == pytest.approx(wanted, abs=3)


def test_more_of_anything_takes_no_less() -> None:
    times = [
        rounds_s(narrow(), "all_reduce", 512.0 * flits, GROUPS[:count], TURNS[: 5 * count - 5], [])
        for count, flits in ((2, 128), (2, 256), (3, 256), (4, 256))
    ]
    assert times == sorted(times) and len({*times}) == 4
    ended = rounds_s(narrow(), "all_reduce", 512.0 * 256, GROUPS, TURNS, ENDS)
    assert ended > times[-1]


def test_who_tells_two_waits_for_an_ack_between() -> None:
    size, groups = 512 * 128.0, [[0, 1, 2, 4], [5, 6, 8]]
    once = [Told((4,), (5, 6, 8))]
    twice = [Told((4,), (8,)), Told((4,), (5, 6))]
    times = [rounds_s(narrow(), "all_reduce", size, groups, turns, []) for turns in (once, twice)]
    # A flit across the top and its ack, less that the one inside has a shorter way.
    assert 200 < cycles(times[1] - times[0]) < 400


def test_rounds_need_endpoints() -> None:
    message = r"^topology must have the record of endpoints for rounds, not none$"
    with pytest.raises(ValueError, match=message):
        rounds_s(parse_topology("fred-b"), "all_reduce", 1e6, GROUPS, TURNS, ENDS)
