"""Tests of fred_hw.mesh.spec."""

from typing import Any

import pytest
from pydantic import ValidationError

from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from tests.fred_hw.specs import MESH


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
