"""Tests of fred_hw.wafer.faults: strategies compiled around a broken link or chiplet."""

from collections import Counter

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import FieldError
from fred_hw.wafer.faults import Fault, FaultyPlane, Outcome, outcomes, single_faults
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import compile_strategy
from tests.fred_hw.wafer.test_plane import EXAMPLES

WAFER = load_wafer(str(EXAMPLES / "wafer-20.yaml"))
NARROW = load_wafer(str(EXAMPLES / "wafer-20-narrow.yaml"))
STRATEGY = Strategy.parse("MP2-DP5-PP2")


def survived(found: list[Outcome]) -> dict[str, tuple[int, int]]:
    """Return faults and survived faults, by kind."""
    faults = Counter(one.fault.kind for one in found)
    good = Counter(one.fault.kind for one in found if one.survives)
    return {kind: (count, good[kind]) for kind, count in faults.items()}


def test_single_faults_are_all_links_and_chiplets() -> None:
    assert Counter(one.kind for one in single_faults(Plane(WAFER))) == {
        "NPU to L1": 20,
        "I/O to L1": 18,
        "L1 to L2": 20,
        "L1 chiplet": 5,
        "L2 chiplet": 2,
    }


def test_the_published_plane_survives_faults_between_switches() -> None:
    found = list(outcomes(WAFER, STRATEGY))
    assert survived(found) == {
        "NPU to L1": (20, 0),
        "I/O to L1": (18, 0),
        "L1 to L2": (20, 20),
        "L1 chiplet": (5, 0),
        "L2 chiplet": (2, 2),
    }
    assert {one.slowdown for one in found if one.fault.kind == "L2 chiplet"} == {2.0}


def test_a_chiplet_with_npus_cuts_them_off() -> None:
    found = next(one for one in outcomes(WAFER, STRATEGY) if one.fault.kind == "L1 chiplet")
    assert found.lost == ("npu0", "npu1", "npu2", "npu3", "io20", "io21", "io22", "io23")
    assert (found.survives, found.slowdown) == (False, None)


def test_one_uplink_has_no_spare() -> None:
    found = list(outcomes(NARROW, STRATEGY))
    assert survived(found)["L1 to L2"] == (5, 0)
    assert survived(found)["L2 chiplet"] == (1, 0)
    said = {one.reason for one in found if one.fault.kind == "L1 to L2"}
    assert said == {"no route between two endpoints"}


@pytest.mark.parametrize("fault", [one for one in single_faults(Plane(WAFER)) if "L2" in one.kind])
@pytest.mark.parametrize("collectives", ["in-network", "ring"])
def test_programs_use_nothing_that_is_broken(fault: Fault, collectives: str) -> None:
    plane = FaultyPlane(WAFER, [fault])
    made = compile_strategy(WAFER, STRATEGY, 512, collectives=collectives, plane=plane)
    broken = {
        (number, port)
        for number, one in enumerate(plane.whole.units)
        for port, end in enumerate(one.ends)
        if end.kind == "unit"
        if fault.chiplet in (number, end.number)
        if fault.port is None
        or (number, port) == (fault.chiplet, fault.port)
        or (end.number, end.port) == (fault.chiplet, fault.port)
    }
    assert broken
    used = {
        (chiplet, port)
        for phase in made.phases
        for one in phase.rounds
        for chiplet, flows in one.paths.flows.items()
        for flow in flows
        for port in (*flow.inputs, *flow.outputs)
    }
    assert not used & broken
    for home in {chiplet for chiplet, _ in plane.homes}:
        for address in range(plane.addresses):
            chiplet, hops = home, 0
            while chiplet != plane.homes[address][0]:
                port = made.route(chiplet, address)
                assert (chiplet, port) not in broken
                chiplet, hops = plane.units[chiplet].ends[port].number, hops + 1
                assert hops <= 2


def test_rings_share_a_link_where_one_is_broken() -> None:
    found = list(outcomes(WAFER, STRATEGY, collectives="ring"))
    assert all(one.survives for one in found if one.fault.kind in ("L1 to L2", "L2 chiplet"))
    assert max(one.slowdown or 0 for one in found) == 2.0


def test_a_strategy_that_does_not_compile_is_refused() -> None:
    with pytest.raises(FieldError, match="npus must be 40 or more"):
        list(outcomes(WAFER, Strategy.parse("MP40-DP1-PP1")))
