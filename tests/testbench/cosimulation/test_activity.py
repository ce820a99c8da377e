"""Tests of testbench.cosimulation.activity."""

from pathlib import Path

import pytest

from fred_hw.mesh.spec import MeshSpec
from testbench.cosimulation.activity import record_workloads

MESH = MeshSpec(width=2, height=2, controllers=False, format="int8", lanes=2)


@pytest.mark.sim
@pytest.mark.long
def test_all_reduce_of_a_mesh_is_a_ring_of_neighbours(tmp_path: Path) -> None:
    """Check that each flit crosses two routers, and that NPUs add every second one."""
    _, (idle, _, ring) = record_workloads(MESH, "mesh", ["errors"], tmp_path, cycles=128)
    assert (idle.workload, idle.counts["flits"]) == ("idle", 0)
    assert ring.workload == "all_reduce"
    flits = ring.counts["flits"]
    assert flits > 3 * 128  # of 4 NPUs
    assert ring.counts == {"flits": flits, "crossings": 2 * flits, "additions": flits / 2 * 2}
