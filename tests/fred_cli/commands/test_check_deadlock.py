"""Tests of `fred check-deadlock`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.mesh.routing import ROUTINGS
from tests.fred_cli.fred import Fred
from tests.fred_hw.fabric_plans import EitherOutput

EXAMPLES = Path(__file__).parents[3] / "examples"
MESH, WAFER = str(EXAMPLES / "mesh-5x4.yaml"), str(EXAMPLES / "wafer-20.yaml")


def test_a_wafer_has_no_cycle(fred: Fred) -> None:
    found = fred.json("check-deadlock", WAFER)
    assert found["cycle"] == []
    nodes = {one["kind"]: one["nodes"] for one in found["waits"]}
    assert nodes == {"ack": 38, "link queue": 116, "send": 38}
    assert "no cycle" in fred.out("check-deadlock", WAFER)


def test_a_cycle_is_printed_with_its_messages(fred: Fred) -> None:
    with ROUTINGS.lending("either", EitherOutput()):
        status, out, err = fred("check-deadlock", MESH, "--set", "routing=either")
    assert (status, err) == (1, "")
    *_, first, last = [
        line.strip() for line in out.splitlines() if "link queue behind port" in line
    ]
    assert "router_" in first and " to " in first
    assert out.splitlines()[-1].strip() == last


def test_what_the_rule_of_acceptance_prevents(fred: Fred) -> None:
    status, out, _ = fred("check-deadlock", MESH, "--acceptance", "endless", "--json")
    assert status == 1
    assert '"receive queue npu' in out


SIZES = ("controllers=false", "width=3", "height=2")
SMALL = (MESH, *(word for size in SIZES for word in ("--set", size)))


def test_phases_with_a_cycle_are_put_into_successive_sets(fred: Fred) -> None:
    line = "check-deadlock", *SMALL, "--strategy", "MP1-DP4-PP1-EP2"
    status, out, err = fred(*line)
    assert (status, err) == (1, "")
    assert "descriptor npu0, ep_all_reduce (npu0, npu2 to npu0, npu2) waits for" in out
    *_, first, second = out.splitlines()
    assert first == "  1: dp_all_reduce (1 flow), ep_all_to_all_1 (4 flows)"
    assert second == "  2: ep_all_reduce (2 flows)"
    found = json.loads(fred(*line, "--json")[1])
    assert [[*one] for one in found["sets"]] == [
        ["dp_all_reduce", "ep_all_to_all_1"],
        ["ep_all_reduce"],
    ]


def test_unicasts_on_the_channels_of_phases_can_close_a_cycle(fred: Fred) -> None:
    line = "check-deadlock", *SMALL, "--strategy", "MP1-DP3-PP2"
    assert "no cycle" in fred.out(*line)
    status, out, _ = fred(*line, "--unicasts")
    assert status == 1
    assert "unicasts of npu" in out


def test_phases_without_trees_are_left_out(fred: Fred) -> None:
    found = fred.json("check-deadlock", MESH, "--strategy", "MP2-DP5-PP2")
    assert found["without_trees"] == ["mp_all_reduce", "dp_all_reduce"]
    assert [[*one] for one in found["sets"]] == [["pp_forward", "pp_backward"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{WAFER} --strategy MP2-DP5-PP2", "--strategy: must be given with a mesh, not "),
        ("none.yaml --strategy MP1-DP2-PP1", "none.yaml: must be an existing file"),
        (f"{MESH} --strategy MP5-DP5-PP1", "as many workers as the mesh has NPUs (20), not 25"),
        (f"{MESH} --strategy MP2", "--strategy: must be of the form MP2-DP5-PP2, not 'MP2'"),
        (f"{MESH} --strategy MP1-DP2-PP1 --set routing=odd_even", "routing: must be xy where"),
        (f"{MESH} --unicasts", "--unicasts: must be given with --strategy"),
        (f"{MESH} --strategy MP1-DP2-PP1 --acceptance endless", "--acceptance: must be bounded"),
        ("demo-8", "demo-8: must be a mesh or wafer specification, not the preset of a switch"),
        (
            f"{EXAMPLES}/torus-64.yaml",
            "must be a mesh or wafer specification, not a topology of the wafer model",
        ),
        (f"{MESH} --acceptance endles", "did you mean 'endless'?"),
        (f"{MESH} --set rooting=xy", "did you mean 'routing'?"),
    ],
)
def test_refusals(refused: Callable[..., str], line: str, message: str) -> None:
    assert message in refused("check-deadlock", *line.split())
