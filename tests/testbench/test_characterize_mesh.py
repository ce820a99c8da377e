"""Tests of testbench.characterize_mesh."""

import json
from pathlib import Path

import pytest

from fred_hw.mesh.load import load_mesh
from perfmodel.switch_timing.router import RouterRecord
from testbench.characterize_mesh import RouterMeasurement
from testbench.cosimulation.cosimulate_mesh import cosimulate_mesh
from testbench.cosimulation.launch import Options
from tests.testbench.records import what_was_measured

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "perfmodel" / "switch_timing" / "records" / "mesh-5x4.json"
MESH = load_mesh(str(ROOT / "examples" / "mesh-5x4.yaml"))


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.long  # the same Verilog in the same bench gives the same figures
def test_shipped_record_is_what_is_measured_now(tmp_path: Path) -> None:
    """Who measured may differ: the commit and the versions of the simulators."""
    shipped = json.loads(RECORD.read_text())
    measured = RouterMeasurement(spec=MESH, seed=shipped["seed"]).record(tmp_path)
    assert what_was_measured(RouterRecord, shipped) == what_was_measured(RouterRecord, measured)


@pytest.mark.sim
@pytest.mark.slow
def test_cycles_depend_neither_on_lanes_nor_on_routers(tmp_path: Path) -> None:
    options = Options(tests=["lone_flit_takes_as_long_at_every_router"])
    small = RouterMeasurement(spec=MESH).measured_spec
    found = [
        cosimulate_mesh(mesh, tmp_path / mesh.name, **options).measurements["router_latency_cycles"]
        for mesh in (small, small.with_changes(width=1, height=3, lanes=2))
    ]
    assert found[0] == found[1] == json.loads(RECORD.read_text())["router"]["latency_cycles"]
