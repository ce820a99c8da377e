"""Tests of tracemodel.astra.traffic: traces move as many bytes as templates do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docs.generate.reference import EXAMPLES
from fred_hw.compiler.placement import Strategy
from perfmodel.memory.file import NO_MEMORY, MemoryFile, load_memory
from perfmodel.run_figures import Figures
from perfmodel.topology.parse import shared_topology
from perfmodel.training.energy import read_energy
from perfmodel.training.estimate import estimate, simulate, summarize
from perfmodel.training.request import Request
from perfmodel.workloads.layers import Layer, Network, Operator
from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import Workload
from tests.perfmodel.training.carried import carried
from tracemodel.astra.engine.job import Job
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension
from tracemodel.astra.network import Network as Astra
from tracemodel.astra.traffic import Traffic
from tracemodel.chakra.iteration_traces import iteration_traces
from tracemodel.chakra.kinds import CollectiveType, NodeType
from tracemodel.chakra.node import Node

from .engine.nodes import collective, compute, message, node, setup
from .engine.test_custom import custom, ring

TABLE = read_energy("measured")
WAFERS = ("fred-a", "fred-d", "mesh:5x4")


def moved(
    given: Setup, traces: Sequence[Sequence[Node]], groups: Any = None, model: str = "fluid"
) -> Figures:
    """Return the figures of traces that take a second."""
    every = [trace_of(iter(one), given.system, f"w.{rank}.et") for rank, one in enumerate(traces)]
    job = Job(every, tuple(range(len(every))), groups or {})
    return Traffic([job], given, model).figures(TABLE, 1.0)


def on(name: str, memory: MemoryFile = NO_MEMORY) -> Setup:
    return Setup(FluidNetwork([FabricLine(shared_topology(name))]), setup().system, memory)


def joules(found: Figures) -> dict[str, float]:
    """Return the energy of communication by use [J]."""
    assert found.energy
    return {name: one for name, one in found.energy.uses_j.items() if one}


def gradients(numbers: int, strategy: Strategy) -> Workload:
    """Return an iteration that is one all-reduce along data parallelism."""
    sparse = Operator("gradients", "embedding", 0, numbers, 0, sparse=True)
    network = Network((Layer("gradients", (sparse,), 0, 0),), input_bytes=0)
    return Workload("all-reduce", network, strategy, "stationary", 1, 1)


@pytest.mark.parametrize("wafer", WAFERS)
@pytest.mark.parametrize(("dp", "numbers"), [(20, 12_345_678), (7, 999_983), (2, 1)])
def test_an_all_reduce_is_the_same_in_a_template_and_in_a_trace(
    wafer: str, dp: int, numbers: int
) -> None:
    strategy = Strategy(1, dp, 1)
    job, fabric = gradients(numbers, strategy), shared_topology(wafer)
    template = estimate(Request.of(fabric, job, str(strategy), energy="measured"))
    nodes = [collective(0, 2 * numbers, pg_name="1")]
    ranks = [nodes if rank in template.npus else [] for rank in range(20)]
    trace = moved(on(wafer), ranks, {"1": sorted(template.npus)})
    assert template.link_bytes and trace.link_bytes == pytest.approx(template.link_bytes)
    assert joules(trace) == pytest.approx(joules(template))
    assert trace.energy and trace.energy.total_j == pytest.approx(sum(joules(template).values()))


@pytest.mark.parametrize("wafer", WAFERS)
@pytest.mark.parametrize("strategy", ["MP2-DP5-PP1", "MP5-DP3-PP1", "MP4-DP1-PP1", "MP1-DP11-PP1"])
def test_nodes_of_an_exported_iteration_move_what_its_tasks_do(wafer: str, strategy: str) -> None:
    """Weights and gradients stream from remote memory; a message to many needs pipeline stages."""
    memory = load_memory(EXAMPLES / "pool-memory.yaml")
    work = Workload("small", transformer(3, 60, 4, 30, 100), Strategy(2, 2, 1), "streaming", 2, 2)
    request = Request.of(shared_topology(wafer), work, strategy, memory=memory, energy="measured")
    found = simulate(request, fitting=False, repeats=False)
    template, traces = summarize(found), iteration_traces(found)
    trace = moved(on(wafer, memory), traces.ranks, traces.groups)
    assert trace.link_bytes == pytest.approx(template.link_bytes)
    assert joules(trace) == pytest.approx(joules(template), rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(
    wafer=st.sampled_from(WAFERS),
    kind=st.sampled_from(
        (CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER, CollectiveType.ALL_TO_ALL)
    ),
    sizes=st.lists(st.integers(1, 1 << 40), min_size=2, max_size=4),
    npus=st.integers(2, 20),
)
def test_energy_of_parts_sums_to_that_of_the_whole(
    wafer: str, kind: CollectiveType, sizes: list[int], npus: int
) -> None:
    nodes = [collective(number, size, kind=kind) for number, size in enumerate(sizes)]
    given = on(wafer)
    whole = joules(moved(given, [nodes] * npus))
    parts = [joules(moved(given, [[one]] * npus)) for one in nodes]
    for name, one in whole.items():
        assert sum(part[name] for part in parts) == pytest.approx(one)
    more = joules(moved(given, [[collective(0, 1 + max(sizes), kind=kind)]] * npus))
    assert all(sum(part.values()) <= sum(more.values()) for part in parts)


def test_a_network_of_astra_has_the_bytes_of_its_rings() -> None:
    """A ring of 4 sends 2 * 3 / 4 of 4,000 bytes from each NPU, and adds 3 * 2,000 numbers."""
    given = setup(network=Astra([Dimension("ring", 4, 1.0, 0)]))
    found = moved(given, [[collective(0, 4_000)]] * 4)
    assert carried(found) == {"npu_npu": 24_000} and found.utilization
    assert [(one.dimension, one.links) for one in found.utilization] == [("1: ring of 4", 8)]
    want = {
        "npu_npu": 24_000 * 8e-12 * TABLE.npu_npu_pj_per_bit,
        "additions": 6e-9 * TABLE.addition_pj,
    }
    assert joules(found) == pytest.approx(want)


def test_messages_and_remote_memory_have_parts_of_their_own() -> None:
    send, receive = message(1, 0, 1, 700)
    load = node(2, NodeType.MEM_LOAD_NODE, tensor_size=50)
    memory = load_memory(EXAMPLES / "astra-memory.yaml")
    found = moved(setup(remote=memory), [[send, load], [receive]])
    assert carried(found) == {"npu_npu": 700, "remote_memory": 50}
    assert found.energy and found.energy.parts_j == pytest.approx(
        {
            "compute": 0.0,
            "collectives": 0.0,
            "messages": 5600e-12 * TABLE.npu_npu_pj_per_bit,
            "memory": 400e-12 * TABLE.remote_memory_pj_per_bit,
        }
    )


def test_collectives_of_traces_carry_the_messages_of_their_traces(tmp_path: Path) -> None:
    """Each time a ring of 4 sends 6 messages of each NPU, whatever the bytes of the workload."""
    ring_of_4 = Astra([Dimension("ring", 4, 1.0, 0)])
    given = custom(tmp_path, ring(4, 1_000), setup(network=ring_of_4))
    for times in (1, 3):
        nodes = [collective(number, 5) for number in range(times)]
        found = moved(given, [nodes] * 4)
        assert carried(found) == {"npu_npu": times * 4 * 6 * 1_000}


def test_compute_without_operations_makes_the_total_unknown() -> None:
    size: dict[str, Any] = {"num_ops": 3_000_000, "tensor_size": 500}
    stated = node(0, NodeType.COMP_NODE, us=5, **size)
    found = moved(setup(), [[stated], [stated]])
    assert found.energy and not found.absent
    assert found.energy.uses_j["operations"] == pytest.approx(6e-6 * TABLE.operation_pj)
    assert found.energy.uses_j["memory"] == pytest.approx(8e-9 * TABLE.memory_pj_per_bit)
    found = moved(setup(), [[stated, compute(1, 2), collective(2, 1_000)], [collective(2, 1_000)]])
    assert found.energy and "energy.total_j" in found.absent
    assert (found.energy.total_j, found.energy.parts_j["compute"]) == (None, None)
    assert found.energy.parts_j["collectives"] and found.link_bytes
    load = node(3, NodeType.MEM_LOAD_NODE, tensor_size=50)
    remote = load_memory(EXAMPLES / "astra-memory.yaml")
    found = moved(setup(remote=remote), [[compute(1, 2), load], []])
    assert found.energy and found.energy.parts_j["compute"] is None
    assert found.energy.parts_j["memory"] == found.energy.uses_j["remote_memory"] != 0


def test_replayed_communication_has_no_figures() -> None:
    nodes = [[collective(0, 1_000, kind=CollectiveType.BROADCAST)]] * 2
    found = moved(setup(), nodes, model="unaware")
    assert (found.energy, found.link_bytes, found.utilization) == (None, None, None)
    assert {*found.absent} == {"energy", "link_bytes", "utilization"}
    assert carried(moved(setup(), nodes)) == {"npu_npu": 1_000}


@pytest.mark.parametrize("npus", [(0, 1, 2, 3), (4, 5, 6, 7), (0, 5, 6, 7)])
def test_a_joint_load_of_all_ranks_is_that_of_a_group_of_all_ranks(npus: tuple[int, ...]) -> None:
    given = on("fred-d", load_memory(EXAMPLES / "pool-memory.yaml"))

    def joint(group: str) -> dict[str, float]:
        load = [node(0, NodeType.MEM_LOAD_NODE, tensor_size=50, pg_name=group)]
        traces = [trace_of(iter(load), given.system, f"w.{rank}.et") for rank in range(4)]
        job = Job(traces, npus, {"1": (0, 1, 2, 3)})
        return carried(Traffic([job], given, "fluid").figures(TABLE, 1.0))

    assert joint("0") == joint("1") != {}
