"""Tests of fred_hw.mesh.ways."""

from itertools import product

import pytest

from fred_hw.mesh.spec import DIRECTIONS, ROUTINGS, MeshSpec
from fred_hw.mesh.way import Way
from fred_hw.mesh.ways import link_loads, way
from tests.fred_hw.simulation import trace


@pytest.mark.parametrize("routing", ROUTINGS)
def test_ways_are_those_of_the_routers(routing: str) -> None:
    mesh = MeshSpec(width=4, height=3, lanes=1, controllers=False, routing=routing)
    asked, wanted = [], []
    for source, destination in product(range(mesh.routers), repeat=2):
        first, *others = way(mesh, source, destination)
        assert first == (source % 4, source // 4, "in")
        assert others[-1] == (destination % 4, destination // 4, "local")
        for x, y, direction in others:
            asked.append({"source": source, "destination": destination, "here.x": x, "here.y": y})
            wanted.append((DIRECTIONS.index(direction), 0))
    assert trace(Way(mesh=mesh, directions=DIRECTIONS), asked, ["exit", "astray"]) == wanted


def test_flits_of_all_pairs_add_up_on_each_link() -> None:
    loads = link_loads(MeshSpec(width=3, height=1, lanes=1), {(0, 2): 5, (1, 2): 3, (2, 0): 2})
    assert loads == {
        (0, 0, "in"): 5,
        (1, 0, "in"): 3,
        (2, 0, "in"): 2,
        (0, 0, "east"): 5,
        (1, 0, "east"): 8,
        (2, 0, "west"): 2,
        (1, 0, "west"): 2,
        (2, 0, "local"): 8,
        (0, 0, "local"): 2,
    }
