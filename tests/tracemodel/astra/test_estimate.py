"""Tests of tracemodel.astra.estimate: exported iterations run from their traces."""

import json
from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.memory.file import MemoryFile
from perfmodel.topology.parse import shared_topology
from perfmodel.training.estimate import simulate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from tests.written import written
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.estimate import Inputs, estimate_traces
from tracemodel.astra.files.system import SystemFile
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.chakra.files import write
from tracemodel.chakra.iteration_traces import iteration_traces
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.node import InOut, Node

from .engine.nodes import SYSTEM, collective

FABRICS = ("fred-d", "fred-a", "mesh:5x4")


def ends_ns(name: str, workload: str, strategy: str) -> tuple[int, int]:
    """Return the end of an iteration, and that of its traces [ns]."""
    fabric, work = shared_topology(name), load_workload(workload)
    found = simulate(Request.of(fabric, work, strategy), fitting=False)
    iteration, traces = found.iteration, iteration_traces(found)
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
@pytest.mark.parametrize(
    ("name", "workload", "strategy"),
    [
        ("fred-d", "llama-3-8b", "MP2-DP2-PP1-CP4-SP"),
        ("fred-d", "mixtral-8x7b", "MP2-DP8-PP1-EP8-SP"),
        ("mesh:5x4", "llama-3-8b", "MP2-DP2-PP2-CP2-SP"),
    ],
)
def test_context_experts_and_sequences_go_into_traces(
    name: str, workload: str, strategy: str
) -> None:
    direct, traced = ends_ns(name, workload, strategy)
    assert abs(traced / direct - 1) < 5e-4


@pytest.mark.slow
def test_streamed_weights_end_a_little_later() -> None:
    direct, traced = ends_ns("fred-d", "gpt-3", "MP2-DP5-PP2")
    assert 0 < traced / direct - 1 < 1e-2


NETWORK = "{topology: [Ring], npus_count: [4], bandwidth: [50.0], latency: [500.0]}"


@pytest.mark.parametrize("model", ["fluid", "unaware"])
def test_groups_are_those_of_the_file_if_given_and_those_in_the_traces_otherwise(
    model: str, tmp_path: Path
) -> None:
    """An all-reduce of all four ranks, in traces that list the group and in others."""
    listed = json.dumps([{"pg_name": "7", "ranks": [0, 1, 2, 3]}])
    inputs = InOut(json.dumps([listed]))
    group = Node(0, "## process_group:init ##", NodeType.METADATA_NODE, inputs=inputs)
    reduced = collective(1, 1 << 20, pg_name="7")
    for rank in range(4):
        write(tmp_path / f"listed.{rank}.et", [group, reduced])
        write(tmp_path / f"plain.{rank}.et", [reduced])
    network = str(written(tmp_path / "net.yaml", NETWORK))
    given = Inputs(written(tmp_path / "sys.json", SYSTEM), model=model)
    by_file = replace(given, groups=(written(tmp_path / "g.json", {"7": [0, 1, 2, 3]}),))
    [from_traces] = estimate_traces(f"{tmp_path}/listed", [network], given)
    [from_file] = estimate_traces(f"{tmp_path}/plain", [network], by_file)
    assert from_traces.ranks == from_file.ranks
    assert from_traces.total_ns > 6 * 500  # three steps to reduce, three to gather
    # The file goes before the traces: there the other two ranks have a group of their own.
    halves = written(tmp_path / "halves.json", {"7": [0, 1], "8": [2, 3]})
    with pytest.raises(
        InputError, match=r"pg_name: must name a group that rank 2 is in, not group 7$"
    ):
        estimate_traces(f"{tmp_path}/listed", [network], replace(given, groups=(halves,)))


POOL = {
    "memory-type": "HIERARCHICAL_MEMORY_POOL",
    "remote-mem-latency": 800,
    "remote-mem-bw": 1,
    "num-remote-mem-groups": 256,
    "num-out-node-switches": 4,
    "out-node-bw": 64,
    "in-node-bw": 256,
    "num-nodes": 5,
    "num-npus-per-node": 4,
    "piece-size": 1 << 20,
}
"""Too narrow for 20 NPUs that load the same weights each by itself."""


@pytest.mark.slow
@pytest.mark.parametrize("joined", [0, 1])
def test_streamed_from_a_pool_iterations_end_as_their_traces_do(joined: int) -> None:
    fabric, work = shared_topology("fred-d"), load_workload("transformer-1t")
    memory = MemoryFile.model_validate(POOL | {"in-switch-collectives": joined})
    found = simulate(Request.of(fabric, work, memory=memory))
    iteration, traces = found.iteration, iteration_traces(found)
    groups = {name: tuple(members) for name, members in traces.groups.items()}
    system = SystemFile.model_validate({})
    setup = Setup(FluidNetwork([FabricLine(fabric)]), system, memory, groups)
    found = [trace_of(iter(nodes), system, f"w.{i}") for i, nodes in enumerate(traces.ranks)]
    traced = max(one.total_ns for one in GraphEngine(found, setup, "fluid").run())
    assert abs(traced / (iteration.time_s * 1e9) - 1) < 1e-5  # latencies of accesses at a time
    # 256 bytes per ns for all: weights forward, backward, and gradients; compute hides them once.
    stream_s = 3 * 2 * work.network.parameters * (1 if joined else 20) / 256e9
    assert iteration.communication_s["weight_streaming"] >= stream_s
    assert iteration.time_s >= max(stream_s, iteration.busy_s)
    assert (iteration.critical_path_s["weight_streaming"] > 0.3 * stream_s) == (not joined)
