"""Tests of fred_hw.mesh.plan; those of every plan are in tests/fred_hw/test_fabric_plan.py."""

from itertools import product

import pytest

from fred_hw.fabric_plan import End
from fred_hw.mesh.plan import DIRECTIONS, Place
from fred_hw.mesh.route_computation import RouteComputation, position_layout
from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec
from testbench.stimulus.meshes import with_routing
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import MESH, TORUS


def test_addresses_are_npus_in_row_order_then_controllers_around() -> None:
    npus = [Place(x, y, "local") for y, x in product(range(2), range(3))]
    north, south = ([Place(x, y, one) for x in range(3)] for y, one in ((0, "north"), (1, "south")))
    east, west = ([Place(x, y, one) for y in range(2)] for x, one in ((2, "east"), (0, "west")))
    assert MESH.plan.places == (*npus, *north, *east, *south, *west)
    assert MESH.with_changes(controllers=False).plan.places == (*npus,)


def test_published_baseline_has_eighteen_controllers() -> None:
    mesh = MeshSpec(width=5, height=4)
    assert (mesh.routers, mesh.plan.addresses) == (20, 38)


def test_a_router_has_the_ports_that_lead_somewhere() -> None:
    assert MESH.plan.units[0].directions == DIRECTIONS
    corner, *_, middle, _ = MESH.with_changes(controllers=False).plan.units
    assert corner.directions == ("east", "south", "local")
    assert (middle.directions, list(middle.numbers)) == (
        ("north", "east", "west", "local"),
        [0, 1, 3, 4],
    )


@pytest.mark.parametrize(("width", "height"), [(2, 2), (2, 5), (3, 2), (4, 4), (5, 3)])
def test_positions_are_those_that_routers_compute_with(width: int, height: int) -> None:
    mesh = MESH.with_changes(width=width, height=height)
    layout, units = position_layout(mesh), mesh.plan.units
    assert [(one.y, one.x) for one in units] == [*product(range(height), range(width))]
    for one in units:
        assert one.position == layout.const({"x": one.x, "y": one.y}).as_value().value


def choices(routing: str) -> tuple[bool, ...]:
    """Return what a source may choose of its route."""
    return (False, True) if ROUTINGS[routing].chooses else (False,)


BOTH = [(routing, alternate) for routing in ROUTINGS for alternate in choices(routing)]


@pytest.mark.parametrize(("routing", "alternate"), BOTH)
def test_routes_are_those_of_the_routers(routing: str, alternate: bool) -> None:
    mesh = with_routing(MeshSpec(width=4, height=3, lanes=1, controllers=False), routing)
    asked, wanted = [], []
    for source, destination in product(range(mesh.routers), repeat=2):
        first, *others = mesh.plan.route(source, destination, alternate=alternate)
        assert first == End("npu", source)
        assert others[-1][:2] == ("unit", destination)
        for _, unit, port in others:
            here = mesh.plan.units[unit]
            asked.append({"source": source, "destination": destination})
            asked[-1] |= {"here.x": here.x, "here.y": here.y}
            asked[-1] |= {"alternate": 1} if alternate else {}
            wanted.append((here.numbers[port], 0))
    assert (
        trace(RouteComputation(mesh=mesh, directions=DIRECTIONS), asked, ["exit", "astray"])
        == wanted
    )


def test_routes_of_a_torus_go_the_shorter_way_around_and_east_or_south_if_both_are() -> None:
    plan = TORUS.with_changes(width=4, height=5).plan

    def directions(destination: int, source: int = 0) -> list[tuple[str, int]]:
        _, *links = plan.channels(source, destination)
        return [(plan.units[link.number].directions[link.port], channel) for link, channel in links]

    assert directions(2) == [("east", 0), ("east", 0), ("local", 0)]
    assert directions(0, 2) == [("east", 0), ("east", 1), ("local", 0)]
    assert directions(3) == [("west", 1), ("local", 0)]
    # Channel 1 is of one row or column: a packet that turns begins on channel 0.
    assert directions(15, 1) == [("east", 0), ("east", 0), ("north", 1), ("north", 1), ("local", 0)]


def test_routers_of_a_torus_have_four_neighbours() -> None:
    units = TORUS.plan.units
    assert all(one.directions == DIRECTIONS for one in units)
    assert [end.number for end in units[0].ends] == [6, 1, 3, 2, 0]
    ring = TORUS.with_changes(height=1).plan.units
    assert {one.directions for one in ring} == {("east", "west", "local")}


def test_a_choice_leads_elsewhere_for_most_pairs_across_and_is_no_longer() -> None:
    mesh = MeshSpec(width=4, height=4, lanes=1, controllers=False, routing="odd_even_adaptive")
    pairs = list(product(range(16), repeat=2))
    routes = [
        [mesh.plan.route(*pair, alternate=alternate) for alternate in (False, True)]
        for pair in pairs
    ]
    assert all(len(named) == len(other) for named, other in routes)
    across = sum(a % 4 != b % 4 and a // 4 != b // 4 for a, b in pairs)
    apart = sum(named != other for named, other in routes)
    # None from column 1 to those beside it, nor from 3 to 2: a packet may turn in one alone.
    assert (across, apart) == (144, 144 * 9 // 12)
    # Without a choice they are those of odd-even.
    fixed = mesh.with_changes(routing="odd_even")
    assert [named for named, _ in routes] == [fixed.plan.route(*pair) for pair in pairs]
