"""Tests of perfmodel.astra.estimate: iterations of ours run from their traces."""

from math import ceil

import pytest

from perfmodel.astra.engine.graph_engine import GraphEngine
from perfmodel.astra.engine.setup import Setup
from perfmodel.astra.engine.trace import trace_of
from perfmodel.astra.files.memory import MemoryFile
from perfmodel.astra.files.system import SystemFile
from perfmodel.astra.fluid.fabric import FabricLine
from perfmodel.astra.fluid.network import FluidNetwork
from perfmodel.chakra.iteration import iteration_traces
from perfmodel.topology.parse import shared_topology
from perfmodel.training.estimate import simulate
from perfmodel.workloads.workload import load_workload

FABRICS = ("fred-d", "fred-a", "mesh:5x4")


def ends_ns(name: str, workload: str, strategy: str) -> tuple[int, int]:
    """Return the end of an iteration, and that of its traces [ns]."""
    fabric, work = shared_topology(name), load_workload(workload)
    iteration, npu, scale, _ = simulate(fabric, work, strategy)
    traces = iteration_traces(fabric, work, iteration.placement, npu, scale)
    system = SystemFile.model_validate({})
    # Storage behind all I/O controllers at once.
    io = [link for link in fabric.links if fabric.nodes[link.source].kind == "io"]
    rate = sum(link.payload_bytes_per_s for link in io) / 1e9
    memory = MemoryFile.model_validate({"memory-type": "MEMORY_POOL", "remote-mem-bw": rate})
    groups = {name: tuple(members) for name, members in traces.groups.items()}
    setup = Setup(FluidNetwork([FabricLine(fabric)]), system, memory, groups)
    found = [trace_of(iter(nodes), system, f"w.{i}") for i, nodes in enumerate(traces.ranks)]
    times = GraphEngine(found, setup, "fluid").run()
    return ceil(iteration.time_s * 1e9), max(one.total_ns for one in times)


@pytest.mark.parametrize("name", FABRICS)
@pytest.mark.parametrize("workload", ["resnet-152", "transformer-17b"])
def test_data_parallel_iterations_end_at_the_same_nanosecond(name: str, workload: str) -> None:
    direct, traced = ends_ns(name, workload, "MP1-DP20-PP1")
    assert abs(direct - traced) <= 2  # compute and transfers are rounded one by one


@pytest.mark.slow
@pytest.mark.parametrize("name", FABRICS)
def test_others_differ_by_what_the_page_says(name: str) -> None:
    """Urgent messages are not held up, and multicasts are messages."""
    direct, traced = ends_ns(name, "transformer-17b", "MP2-DP5-PP2")
    assert -2e-4 < traced / direct - 1 < 0


@pytest.mark.slow
def test_streamed_weights_end_a_little_later() -> None:
    direct, traced = ends_ns("fred-d", "gpt-3", "MP2-DP5-PP2")
    assert 0 < traced / direct - 1 < 1e-2
