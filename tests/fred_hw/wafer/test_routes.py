"""Tests of fred_hw.wafer.routes: unicasts of a program share out the links between switches."""

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.routes import Routes, shared_out
from tests.fred_hw.wafer.test_plane import EXAMPLES, plane

WAFER = load_wafer(str(EXAMPLES / "wafer-20.yaml"))
FLIT = 512


def rings(strategy: str) -> WaferProgram:
    return compile_strategy(WAFER, Strategy.parse(strategy), FLIT * 64, collectives="ring")


def links(one: Plane, routes: Routes, source: int, target: int) -> list[tuple[int, int]]:
    """Return the links between switches from one end to another."""
    found: list[tuple[int, int]] = []
    chiplet = one.homes[source][0]
    while True:
        port = routes.get((chiplet, target), one.port_for(chiplet, target))
        end = one.units[chiplet].ends[port]
        if end.kind != "unit":
            assert end.number == target
            return found
        found.append((chiplet, port))
        assert len(found) <= 4, "a route goes up and down again"
        chiplet = end.number


def most(made: WaferProgram) -> int:
    """Return how many unicasts a link carries at the same time, at most."""
    return max(
        (
            count
            for pairs in made.unicasts()
            for count in Counter(
                link for pair in pairs for link in links(made.plane, made.routes, *pair)
            ).values()
        ),
        default=0,
    )


def test_two_rings_of_five_have_a_link_each() -> None:
    """By default NPUs 4 and 7 of one L1 send to NPUs 0 and 8 by the same one of four links."""
    made = rings("MP5-DP2-PP2")
    assert most(replace(made, routes={})) == 2
    assert most(made) == 1 and len(made.routes) == 1


def test_unicasts_of_each_strategy_have_links_of_their_own() -> None:
    """An L1 has as many links up as NPUs, so no two unicasts of a phase need the same link."""
    for mp, dp, pp in product(range(1, 21), repeat=3):
        if 1 < mp * dp * pp <= 20:
            made = rings(f"MP{mp}-DP{dp}-PP{pp}")
            assert most(made) <= 1, made.strategy


def test_routes_stay_at_the_default_where_that_shares_no_link() -> None:
    for strategy in ("MP2-DP5-PP2", "MP3-DP3-PP2", "MP20-DP1-PP1", "MP4-DP5-PP1-SP"):
        made = rings(strategy)
        assert not made.routes and most(made) == 1
    assert not compile_strategy(WAFER, Strategy.parse("MP5-DP2-PP2"), FLIT).routes, "in-network"


def test_switches_are_written_the_routes() -> None:
    made = rings("MP5-DP2-PP2")
    ((chiplet, address), port) = next(iter(made.routes.items()))
    said = made.to_dict()["switches"][made.plane.units[chiplet].name]
    assert said["routes"][address] == port != made.plane.port_for(chiplet, address)
    others = replace(made, routes={})
    wrote = made.switch_steps(chiplet), others.switch_steps(chiplet)
    assert sum(a != b for a, b in zip(*wrote, strict=True)) == 1


@pytest.mark.parametrize("name", ["wafer-4", "wafer-20-narrow", "three levels"])
def test_each_source_still_reaches_each_destination(name: str) -> None:
    """Also where links are too few for all unicasts at once, and where trees are higher."""
    one = plane(name)
    ends = range(one.wafer.npus)
    moments = [[(npu, (npu + away) % len(ends)) for npu in ends] for away in ends[1:]]
    routes = shared_out(one, moments)

    def squares(taken: Routes) -> int:
        loads = Counter(
            (moment, link)
            for moment, pairs in enumerate(moments)
            for pair in pairs
            for link in links(one, taken, *pair)
        )
        return sum(count * count for count in loads.values())

    assert squares(routes) <= squares({})
    if name == "three levels":
        assert squares(routes) < squares({})
