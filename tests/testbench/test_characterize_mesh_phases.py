"""Tests of testbench.characterize_mesh_phases; tests/testbench/collectives has phases on a mesh."""

import pytest

from fred_hw.mesh.load import load_mesh
from testbench.characterize_mesh_phases import measured_phases
from testbench.measurement import fewer_lanes
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
    assert [how for *_, how in found[2:]] == ["hierarchical_2d_halves"] * 2 + ["ring"] * 2
    assert len(jobs) == 2 * (1 + 2 + 1 + 1 + 2)


def test_strategies_without_phases_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^strategy must have phases, not MP1-DP1-PP1$"):
        measured_phases(fewer_lanes(MESH), ["MP1-DP1-PP1"], [16])
