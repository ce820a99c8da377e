"""Tests of tracemodel.astra.details: collectives, links and compute worked out by hand."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from perfmodel.run_figures import Figures
from perfmodel.topology.parse import shared_topology
from perfmodel.training.energy import read_energy
from tests.perfmodel.training.carried import carried
from tracemodel.astra.details import CollectiveTimes, TraceDetails, trace_details
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.job import Job
from tracemodel.astra.engine.record import Record
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension, Network
from tracemodel.astra.timeline import trace_timeline
from tracemodel.astra.traffic import Traffic
from tracemodel.astra.transport import NETWORK_MODELS
from tracemodel.chakra.kinds import CollectiveType, NodeType
from tracemodel.chakra.node import Node

from .engine.nodes import collective, compute, message, node, setup

BYTE = 1_000_000_000 / (1 << 30)
"""Bandwidth of a byte per ns."""


def details(
    given: Setup, *traces: Sequence[Node], model: str = "unaware"
) -> tuple[TraceDetails, Record, Figures]:
    found = [trace_of(iter(one), given.system, f"w.{rank}.et") for rank, one in enumerate(traces)]
    record = Record()
    times = GraphEngine(found, given, model, record=record).run()
    job = Job(found, tuple(range(len(found))), given.groups)
    total_ns, traffic = max(one.total_ns for one in times), Traffic([job], given, model)
    said = trace_details(record.spans, job, given.system, traffic, total_ns)
    return said, record, traffic.figures(read_energy("wafer"), 1e-9 * total_ns)


def test_exposed_time_of_a_collective_is_that_without_compute_of_its_rank() -> None:
    """Two steps of 1,000 + 1,000 ns; rank 0 computes for 3,000 ns from the begin, rank 1 never."""
    first = [collective(1, 2_000), compute(2, 3)]
    found, *_ = details(setup(), first, [collective(1, 2_000)])
    assert sorted(found.collectives, key=lambda one: one.rank) == [
        CollectiveTimes(0, 1, "all_reduce", "", 2_000, 0, 4_000, 1_000),
        CollectiveTimes(1, 1, "all_reduce", "", 2_000, 0, 4_000, 4_000),
    ]


def test_compute_in_the_middle_and_on_the_cpu() -> None:
    """1,000 ns of compute are within the collective; the CPU computes all the time."""
    nodes = [collective(1, 2_000), compute(2, 1, [3]), compute(3, 1, cpu=True)]
    nodes += [compute(4, 9, [3], cpu=True), compute(5, 2, [4])]
    found, *_ = details(setup(), nodes, [collective(1, 2_000)])
    assert next(one for one in found.collectives if one.rank == 0).exposed_ns == 3_000


@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_bytes_on_links_of_two_dimensions(model: str) -> None:
    """All-reduce of 4,000 bytes by 2 x 2 NPUs, in both dimensions fully connected.

    Each NPU sends 2,000 bytes in dimension 0 twice, to scatter and to gather, and of the half that
    it has then 1,000 bytes twice in dimension 1. Each dimension has 4 directed links. A byte takes
    1 ns in dimension 0 and 2 ns in dimension 1. Steps take 2 * 2,000 and 2 * 2,000 ns.
    """
    net = Network([Dimension("fully_connected", 2, one, 0) for one in (BYTE, BYTE / 2)])
    system: dict[str, Any] = {"all_reduce_implementation": ["ring"] * 2}
    given = setup(network=net, **system, collective_optimization="localBWAware")
    found, _, figures = details(given, *[[collective(0, 4_000)]] * 4, model=model)
    assert found.collectives[0].end_ns == 8_000
    assert figures.utilization and carried(figures) == {"npu_npu": 24_000}
    assert [(one.dimension, one.links, one.bytes) for one in figures.utilization] == [
        ("1: fully_connected of 2", 4, 16_000),
        ("2: fully_connected of 2", 4, 8_000),
    ]
    for one in figures.utilization:
        assert (one.peak, one.average) == pytest.approx((0.5, 0.5))
    ends = {(one.dimension, one.source, one.target): one.bytes for one in found.links}
    assert ends[0, "npu 0", "npu 1"] == 4_000 and ends[1, "npu 3", "npu 1"] == 2_000
    assert len(ends) == 8


def test_messages_and_uneven_all_to_alls_are_on_links() -> None:
    """700 bytes go from 0 to 1; then rank 0 gives 300 of its 600 to rank 1 and gets 100 of 200."""
    send, receive = message(1, 0, 1, 700)
    kind = CollectiveType.ALL_TO_ALL
    nodes = [[send, collective(2, 600, [1], kind=kind)], [receive, collective(2, 200, kind=kind)]]
    found, *_ = details(setup(), *nodes)
    assert {(one.source, one.bytes) for one in found.links} == {("npu 0", 1_000), ("npu 1", 100)}


def test_links_of_a_fabric_have_the_names_of_their_nodes() -> None:
    fabric = shared_topology("mesh:2x1")
    given = Setup(FluidNetwork([FabricLine(fabric)]), setup().system)
    send, receive = message(1, 0, 1, 700)
    found, *_ = details(given, [send], [receive], model="fluid")
    assert [(one.source, one.target, one.bytes) for one in found.links] == [("npu_0", "npu_1", 700)]


def test_compute_by_the_roofline() -> None:
    """Peak 2,000 operations per ns, memory 100 bytes per ns: bound by compute from 20 per byte on.

    8 million operations on 100,000 bytes (80 per byte) take 4,000 ns. 1 million on 100,000 bytes
    (10 per byte) wait for memory for 1,000 ns, and do 1,000 per ns. Of 5,000 ns 80 % are bound by
    compute, 9 of 10 million possible operations are done and 200,000 of 500,000 bytes moved.
    """
    system: dict[str, Any] = {"roofline_enabled": 1, "peak_perf": 2, "local_mem_bw": 100}
    pairs = ((8_000_000, 100_000), (1_000_000, 100_000))
    nodes = [
        node(number, NodeType.COMP_NODE, num_ops=ops, tensor_size=size)
        for number, (ops, size) in enumerate(pairs)
    ]
    found, *_ = details(setup(**system), nodes, [])
    (one,) = found.compute
    assert (one.rank, one.compute_bound, one.compute_utilization) == (0, 0.8, 0.9)
    assert (one.memory_utilization, one.operation_intensity) == (0.4, 45)


def test_a_timeline_has_a_thread_for_each_kind_and_more_where_nodes_overlap() -> None:
    """Both sends of 1,700 ns follow each other; both receives wait from the begin on."""
    pairs = [message(number, 0, 1, 700, comm_tag=number) for number in (3, 4)]
    nodes = [[compute(1, 2), *[one for one, _ in pairs]], [one for _, one in pairs]]
    _, record, _ = details(setup(), *nodes)
    events = trace_timeline(record.spans, [{1: "forward"}, {}], "t")["traceEvents"]
    every = cast("list[dict[str, Any]]", events)
    ran = {(one["pid"], one["tid"], one["name"], one["ts"], one["dur"]) for one in every[-5:]}
    assert ran == {
        (0, 0, "forward", 0.0, 2.0),
        (0, 2, "node 3", 0.0, 1.7),
        (0, 2, "node 4", 1.7, 1.7),
        (1, 3, "node 3", 0.0, 1.7),
        (1, 8, "node 4", 0.0, 3.4),
    }
    labels = [one["args"] for one in every[:-5]]
    assert {"name": "receive 2"} in labels and {"name": "rank 1"} in labels
