"""Tests of `fred check-deadlock`."""

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


@pytest.mark.parametrize(
    ("line", "message"),
    [
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
