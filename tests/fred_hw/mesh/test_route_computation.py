"""Contract of fred_hw.mesh.route_computation: from every router to every address, and turns."""

import random
from collections.abc import Mapping
from functools import cache
from itertools import product

import pytest

from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.route_computation import RouteComputation
from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import ADDRESSES
from testbench.stimulus.meshes import with_routing
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import MESH

MESHES = {
    routing: with_routing(MeshSpec(width=4, height=3, lanes=1, controllers=False), routing)
    for routing in ROUTINGS
}
RING = MESHES["dateline"].with_changes(width=5, height=1)
ODD_EVEN = MESHES["odd_even"]
AROUND = MeshSpec(width=2, height=2, lanes=1, routing="odd_even")
Turn = tuple[str, str, int]
"""Direction of travel before and behind, and the column."""


def leaves(mesh: MeshSpec, asked: list[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Return port and ``astray`` of sources, destinations, columns and rows."""
    names = ("source", "destination", "here.x", "here.y")
    cycles = [dict(zip(names, one, strict=True)) for one in asked]
    return trace(RouteComputation(mesh=mesh, directions=DIRECTIONS), cycles, ["exit", "astray"])


@cache
def table(mesh: MeshSpec) -> Mapping[tuple[int, int, int, int], str]:
    """Return where packets leave, from all sources to all destinations at all routers."""
    ends, columns, rows = range(mesh.plan.addresses), range(mesh.width), range(mesh.height)
    asked = list(product(ends, ends, columns, rows))
    found = leaves(mesh, asked)
    assert not any(astray for _, astray in found)
    return {one: DIRECTIONS[port] for one, (port, _) in zip(asked, found, strict=True)}


def walk(mesh: MeshSpec, source: int, destination: int) -> tuple[int, list[Turn]]:
    """Return the address where a packet comes out, and the turns between routers on its way."""
    units, turns, before = mesh.plan.units, [], ""
    here = units[mesh.plan.homes[source][0]]
    for _ in range(mesh.width + mesh.height):
        out = table(mesh)[source, destination, here.x, here.y]
        end = here.ends[here.directions.index(out)]
        if end.kind != "unit":
            return end.number, turns
        turns += [(before, out, here.x)] if before not in ("", out) else []
        before, here = out, units[end.number]
    raise AssertionError(f"from {source} to {destination} there is no end")


@pytest.mark.parametrize(
    "mesh", [*MESHES.values(), MESH, AROUND, RING], ids=lambda mesh: mesh.shape_name
)
def test_every_packet_comes_to_its_end_by_a_shortest_way(mesh: MeshSpec) -> None:
    ends = range(mesh.plan.addresses)
    for source, destination in product(ends, ends):
        # As many routers as that at most: walk() gives up behind them.
        assert walk(mesh, source, destination)[0] == destination


def test_xy_never_turns_back_into_a_row() -> None:
    ends = range(MESH.plan.addresses)
    turns = [turn for pair in product(ends, ends) for turn in walk(MESH, *pair)[1]]
    assert turns and all(before in ("east", "west") for before, _, _ in turns)


def test_odd_even_leaves_out_the_turns_that_close_circles() -> None:
    ends = range(ODD_EVEN.plan.addresses)
    turns = {turn for pair in product(ends, ends) for turn in walk(ODD_EVEN, *pair)[1]}
    north_south = ("north", "south")
    for before, behind, column in turns:
        assert not (before == "east" and behind in north_south and column % 2 == 0)
        assert not (before in north_south and behind == "west" and column % 2 == 1)
    # Turns into a row are what X-Y never has.
    assert any(before in north_south for before, _, _ in turns)


def test_odd_even_spreads_pairs_over_several_ways() -> None:
    turns = [walk(ODD_EVEN, source, 3)[1] for source in (4, 5, 8, 9)]
    assert {one[0][0] for one in turns if one} == {"east", "north"}


@pytest.mark.parametrize("mesh", [*MESHES.values(), MESH], ids=lambda mesh: mesh.shape_name)
def test_what_has_no_end_here_is_astray(mesh: MeshSpec) -> None:
    asked = [(0, address, 1, 1) for address in range(mesh.plan.addresses, ADDRESSES)]
    assert all(astray for _, astray in leaves(mesh, asked))


def test_a_port_that_is_not_there_leads_nowhere() -> None:
    bare = MESH.with_changes(controllers=False)
    route = RouteComputation(mesh=bare, directions=("east", "south", "local"))
    # The first router is given a packet as if it stood further east.
    cycles = [{"destination": 5, "here.x": x, "here.y": 1} for x in (0, 2)]
    west = {"destination": 0, "here.x": 1, "here.y": 0}
    assert trace(route, [*cycles, west], ["exit", "astray"]) == [(0, 0), (2, 0), (0, 1)]


def test_other_ports_are_refused() -> None:
    names = "north, east, south, west, local"
    message = rf"^RouteComputation directions must be 2 or more of {names}, not \['up'\]$"
    with pytest.raises(ValueError, match=message):
        RouteComputation(mesh=MESH, directions=["up"])
    with pytest.raises(TypeError, match=r"^RouteComputation mesh must be a MeshSpec, not 3$"):
        RouteComputation(mesh=3, directions=DIRECTIONS)


def test_throughput_is_a_packet_in_every_cycle() -> None:
    rng, known = random.Random(1), table(MESH)
    asked = rng.sample(sorted(known), 50)
    assert [DIRECTIONS[port] for port, _ in leaves(MESH, asked)] == [known[one] for one in asked]
