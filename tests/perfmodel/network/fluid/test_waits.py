"""Tests of perfmodel.network.fluid.waits."""

import pytest

from perfmodel.collectives.select import build_schedule
from perfmodel.network.fluid.waits import ack_s, waits_s
from perfmodel.network.run import profile, run_collective
from perfmodel.topology.parse import parse_topology

LOCAL_S = 2 * 20e-9 + 25 / 1.171875e9
"""One way between NPUs of an L1: two links and a switch of 25 cycles [s]."""


@pytest.mark.parametrize(
    ("fabric", "pattern", "group", "changes"),
    [
        ("fred-c", "all_to_all", (0, 1, 2, 3), 2),  # three destinations
        ("fred-c", "all_reduce", (0, 1, 2, 3), 0),  # always the next one of the ring
        ("fred-d", "all_reduce", (0, 1, 2, 3), 0),  # one phase
        ("fred-d", "reduce_scatter", (0, 1, 2, 3), 3),  # a phase for each member
        ("fred-d", "broadcast", (0, 1, 2, 3), 0),
    ],
)
def test_source_waits_a_round_trip_for_each_change(
    fabric: str, pattern: str, group: tuple[int, ...], changes: int
) -> None:
    wafer, ideal = parse_topology(fabric), parse_topology(fabric, "ideal")
    schedule = build_schedule(wafer, pattern, [group], 1.0, lockstep=True)
    expected_s = changes * 2 * LOCAL_S
    assert waits_s(wafer, schedule.messages) == pytest.approx(expected_s)
    assert waits_s(wafer, schedule.messages, 2) == pytest.approx(expected_s + 4 * LOCAL_S)
    assert ack_s(wafer, schedule.messages) == pytest.approx(LOCAL_S)
    assert waits_s(ideal, schedule.messages, 2) == ack_s(ideal, schedule.messages) == 0.0


def test_two_levels_of_rings_go_to_two_neighbours() -> None:
    wafer = parse_topology("fred-c")
    schedule = build_schedule(wafer, "all_reduce", [tuple(range(20))], 1.0, lockstep=True)
    across_s = 4 * 20e-9 + 3 * 25 / 1.171875e9
    assert waits_s(wafer, schedule.messages) == pytest.approx(2 * across_s)


def test_time_of_a_collective_has_the_waits_in_it() -> None:
    wafer = parse_topology("fred-d")
    small = run_collective(
        wafer, "reduce_scatter", 1.0, (0, 1, 2, 3), algorithm="in_network"
    ).time_s
    assert small == pytest.approx(LOCAL_S + 3 * 2 * LOCAL_S, rel=1e-3)


def test_urgent_message_waits_at_every_switch_for_others_to_give_way() -> None:
    wafer = parse_topology("fred-d")
    for group, switches in (((0, 1), 1), ((0, 4), 3)):
        calm, _ = profile(wafer, "all_reduce", 1.0, [group])
        urgent, _ = profile(wafer, "all_reduce", 1.0, [group], urgent=True)
        assert urgent.time_s - calm.time_s == pytest.approx(switches * 8 / 1.171875e9)
    ideal = parse_topology("fred-d", "ideal")
    calm, _ = profile(ideal, "all_reduce", 1.0, [(0, 1)])
    assert profile(ideal, "all_reduce", 1.0, [(0, 1)], urgent=True)[0] == calm
