"""Tests of testbench.characterize_mesh_phases; tests/testbench/collectives has phases on a mesh."""

import json
import re

import pytest

from fred_hw.mesh.load import load_mesh
from perfmodel.studies.rtl_mesh import SHIPPED_MESH_CYCLES
from testbench.characterize_mesh_phases import measured_phases, mesh_with_ends_hash
from testbench.record_head import fewer_lanes
from tests.docs.pages import ROOT

MESH = load_mesh(str(ROOT / "examples/mesh-5x4.yaml"), {})


def test_a_phase_is_measured_once_by_each_algorithm() -> None:
    """A ring of two is all that there is for two, and copies are unicasts."""
    small = fewer_lanes(MESH)
    jobs = measured_phases(small, ["MP2-DP5-PP2", "MP20-DP1-PP1"], [16, 32])
    found = [
        (program.size, phase.name, how["algorithm"])
        for program, phase, how in jobs
        if phase.number == 0
    ]
    assert found[:2] == [(16, "mp_all_reduce", "ring"), (32, "mp_all_reduce", "ring")]
    assert [how for *_, how in found[2:]] == ["hierarchical"] * 2 + ["ring"] * 2
    assert len(jobs) == 2 * (1 + 2 + 1 + 1 + 2)


def test_strategies_without_phases_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^strategy must have phases, not MP1-DP1-PP1$"):
        measured_phases(fewer_lanes(MESH), ["MP1-DP1-PP1"], [16])


@pytest.mark.sim
@pytest.mark.slow
def test_shipped_cycles_are_of_the_verilog_of_today() -> None:
    """`make records` mends it: the same Verilog takes as many cycles."""
    source = json.loads(SHIPPED_MESH_CYCLES.read_text())["source"]
    assert source["verilog_sha256"] == mesh_with_ends_hash(fewer_lanes(MESH))
    assert re.fullmatch("[0-9a-f]{40}", source["git_commit"]), "measured on what is no commit"
