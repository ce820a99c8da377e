"""Tests of testbench.cosimulation.activity."""

import re
from pathlib import Path

import pytest

from fred_hw.mesh.spec import MeshSpec
from gen.design import generate
from gen.verilog_parser import parse_module, read_modules
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


@pytest.mark.sim
@pytest.mark.slow(60)
def test_both_simulators_record_the_same_ports(tmp_path: Path) -> None:
    """Check Verilator, which translates each kind of router once, against Icarus."""
    design = generate(MESH, level="mesh")
    texts = dict(read_modules(design.verilog))
    routers = re.findall(r"^  (mesh_router\w+) (\w+) \($", design.verilog, re.MULTILINE)
    modules = {
        module: [one for one in parse_module(module, texts[module]).ports if one != "clk"]
        for module, _ in routers
    }
    ports = [f"{name}.{port}" for module, name in routers for port in modules[module]]
    assert len(routers) == len(modules) == 4
    found = []
    for known in ({}, modules):
        simulator, [recording] = record_workloads(
            MESH, "mesh", ports, tmp_path, cycles=32, workloads=["all_reduce"], modules=known
        )
        found.append((simulator.split()[0], recording))
    (one, icarus), (other, verilator) = found
    assert (one, other) == ("icarus", "verilator")
    assert icarus.window == verilator.window and icarus.counts == verilator.counts
    # Verilator knows no undefined bits.
    for port in ports:
        pairs = zip(icarus.values[port], verilator.values[port], strict=True)
        assert all(a in (None, b) for a, b in pairs), port
        assert None not in icarus.values[port][icarus.window[0] :], port
