"""Tests of fred_hw.mesh.spec."""

from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import DIRECTIONS, MeshSpec, Place
from fred_hw.spec import SwitchSpec
from tests.fred_hw.specs import MESH


def test_addresses_are_npus_in_row_order_then_controllers_around() -> None:
    npus = [Place(x, y, "local") for y, x in product(range(2), range(3))]
    north, south = ([Place(x, y, one) for x in range(3)] for y, one in ((0, "north"), (1, "south")))
    east, west = ([Place(x, y, one) for y in range(2)] for x, one in ((2, "east"), (0, "west")))
    assert MESH.places == (*npus, *north, *east, *south, *west)
    assert MESH.with_changes(controllers=False).places == (*npus,)


def test_published_baseline_has_eighteen_controllers() -> None:
    mesh = MeshSpec(width=5, height=4)
    assert (mesh.routers, len(mesh.places)) == (20, 38)


def test_a_router_has_the_ports_that_lead_somewhere() -> None:
    assert MESH.directions(0, 0) == DIRECTIONS
    bare = MESH.with_changes(controllers=False)
    assert bare.directions(0, 0) == ("east", "south", "local")
    assert bare.directions(1, 1) == ("north", "east", "west", "local")


def test_ends_of_its_links_are_those_of_a_switch() -> None:
    assert MESH.link == SwitchSpec(ports=5, lanes=1, format="int16", protocol=MESH.protocol)
    assert MESH.router(DIRECTIONS).digest == MESH.link.digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 1, "height": 1}, "width: must be 2 or more in a mesh of one row, not 1"),
        (
            {"width": 12, "height": 8},
            "height: must leave at most 128 NPUs and controllers, not 136 with 8 rows of 12",
        ),
        ({"controllers": 1}, "must be true or false, not 1"),
        ({"routing": "yx"}, f"must be one of {', '.join(ROUTINGS)}, not 'yx'"),
        ({"width": 0}, "must be an integer from 1 to 64, not 0"),
        (
            {"endpoint": {"replay_packets": 64}},
            "endpoint.replay_packets: must be 0 or at most window_packets 8, not 64",
        ),
    ],
)
def test_bad_values_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        MESH.with_changes(**changes)
    assert refused.value.errors()[0]["msg"] == message


def test_names_tell_meshes_apart() -> None:
    sizes: list[dict[str, Any]] = [
        {},
        {"width": 2},
        {"controllers": False},
        *({"routing": one} for one in ROUTINGS if one != MESH.routing),
        {"lanes": 2},
    ]
    assert len({MESH.with_changes(**one).name for one in sizes}) == len(sizes)
    assert MeshSpec(width=5, height=4).name == "mesh_5x4_fp16x4_link"
