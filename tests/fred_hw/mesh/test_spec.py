"""Tests of fred_hw.mesh.spec."""

from typing import Any

import pytest
from pydantic import ValidationError

from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from tests.documented import documented_keys, read_keys
from tests.fred_hw.specs import MESH, TORUS


def test_ends_of_its_links_are_those_of_a_switch() -> None:
    assert MESH.link == SwitchSpec(ports=5, lanes=1, format="int16", protocol=MESH.protocol)
    assert MESH.router(DIRECTIONS).digest == MESH.link.digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 1, "height": 1}, "width: must be 2 or more in one row of routers, not 1"),
        (
            {"width": 12, "height": 8},
            "height: must give at most 128 NPUs and controllers, not 136 with 8 rows of 12",
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
        *({"routing": one} for one in ROUTINGS if one != MESH.routing and not ROUTINGS[one].wraps),
        {"wrap": True, "controllers": False, "routing": "dateline", "height": 3},
        {"lanes": 2},
    ]
    assert len({MESH.with_changes(**one).name for one in sizes}) == len(sizes)
    assert MeshSpec(width=5, height=4).name == "mesh_5x4_fp16x4_link"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"routing": "xy"}, "routing: must be dateline with wrap, not xy"),
        (
            {"wrap": False},
            "routing: must be xy or odd_even or odd_even_adaptive without wrap, not dateline",
        ),
        ({"wrap": 1}, "must be true or false, not 1"),
        ({"controllers": True}, "controllers: must be false with wrap, not true"),
        ({"width": 2}, "width: must be 1 or at least 3 with wrap, not 2"),
        ({"height": 2}, "height: must be 1 or at least 3 with wrap, not 2"),
    ],
)
def test_a_torus_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TORUS.with_changes(**changes)
    assert refused.value.errors()[0]["msg"] == message


def test_links_between_routers_of_a_torus_have_two_virtual_channels_per_class() -> None:
    inside, outside = (TORUS.router(DIRECTIONS, outside=one) for one in (False, True))
    names = ("mp_0", "mp_1", "pp_0", "pp_1", "dp_0", "dp_1")
    assert (inside.protocol.buffers, outside.protocol.buffers) == (names, ("mp", "pp", "dp"))
    # Both ends of a link agree on it.
    assert outside.digest == TORUS.link.digest != inside.digest


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("mesh") == documented_keys("mesh") != []
