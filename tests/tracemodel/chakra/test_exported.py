"""Tests of tracemodel.chakra.exported: traces of iterations end when these do."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fred_hw.compiler.placement import Strategy
from perfmodel.memory.file import MemoryFile
from perfmodel.topology.parse import shared_topology
from perfmodel.training.energy import read_energy
from perfmodel.training.estimate import estimate, simulate, summarize
from perfmodel.training.iteration import Iteration
from perfmodel.training.request import Request
from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import Workload, load_workload
from tests.written import written
from tracemodel.astra.estimate import Inputs, JobRequest, estimate_jobs, estimate_traces
from tracemodel.chakra.exported import ExportedRun, exported_of, load_exported, run_exported
from tracemodel.chakra.files import write
from tracemodel.chakra.iteration_traces import Traces, iteration_traces
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.marks import ACKS, AFTER, EXACT, NPUS, STRATEGY, TASK
from tracemodel.chakra.node import DURATION_NS, Attr, Metadata, Node
from tracemodel.chakra.traces import trace_path

FEW = "MP2-DP2-PP4"
FEW_LAYERS = Workload("small", transformer(6, 64, 4, 32, 100), Strategy(2, 2, 4), "streaming", 2, 4)
"""Streamed, with messages around all stages, on few nodes."""


def made(
    name: str,
    workload: str | Workload,
    strategy: str,
    microbatches: int | None = None,
    memory: MemoryFile | None = None,
) -> tuple[Traces, Iteration]:
    fabric = shared_topology(name)
    work = load_workload(workload) if isinstance(workload, str) else workload
    if microbatches:
        work = replace(work, microbatches=microbatches)
    how = (fabric, work, strategy)
    found = simulate(Request.of(*how, memory=memory), fitting=False, repeats=False)
    return iteration_traces(found), found.iteration


small = cache(lambda: made("fred-d", FEW_LAYERS, FEW))


def ran(traces: Traces, name: str, memory: MemoryFile | None = None) -> ExportedRun | None:
    """Return the run of traces as an iteration; None if they are of none."""
    files = [(traces.metadata, nodes) for nodes in traces.ranks]
    found = exported_of(files, traces.groups)
    return found and run_exported(found, shared_topology(name), memory=memory)


def ends_s(run: ExportedRun) -> list[float]:
    """Return when each NPU ends."""
    return [max((end for part in rank for _, end in part), default=0.0) for rank in run.spans]


def end_s(traces: Traces, name: str, memory: MemoryFile | None = None) -> float | None:
    """Return when the traces end as an iteration; None if they are of none."""
    run = ran(traces, name, memory)
    return run and max(ends_s(run))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "workload", "strategy", "microbatches"),
    [
        ("fred-d", "transformer-17b", "MP2-DP5-PP2", 4),
        ("fred-a", "transformer-17b", "MP3-DP3-PP2", 4),
        ("mesh:5x4", "transformer-17b", "MP2-DP2-PP5", 8),
        ("fred-c", "transformer-17b", "MP20-DP1-PP1", 2),
        ("fred-b", "resnet-152", "MP1-DP20-PP1", None),
        ("fred-d", "transformer-1t", "MP4-DP1-PP5", 2),
        ("mesh:5x4", "gpt-3", "MP2-DP5-PP2", 4),
        ("mesh:5x4", "llama-3-8b", "MP2-DP2-PP2-CP2-SP", 4),
        ("fred-d", "mixtral-8x7b", "MP2-DP8-PP1-EP8-SP", 2),
        ("fred-d", "mixtral-8x7b", "MP1-DP4-PP4-EP2", 4),
    ],
)
def test_traces_end_where_the_iteration_does(
    name: str, workload: str, strategy: str, microbatches: int | None
) -> None:
    traces, iteration = made(name, workload, strategy, microbatches)
    run = ran(traces, name)
    assert run is not None and max(ends_s(run)) == iteration.run.time_s
    assert round(1e9 * iteration.time_s) == round(1e9 * iteration.run.time_s)
    # The NPU of the estimate is the first that ends last, and is exposed for as long.
    rank = ends_s(run).index(iteration.run.time_s)
    assert rank == min(
        npu for group in iteration.placement.mp_groups(iteration.stage) for npu in group
    )
    compute_s = sum(end - start for start, end in run.spans[rank][0])
    assert iteration.compute_s == pytest.approx(compute_s, rel=1e-9)
    exposed_s = iteration.run.time_s - compute_s
    assert iteration.exposed_s.total_s == pytest.approx(exposed_s, rel=1e-9)


def test_waits_for_acks_and_storage_are_marked() -> None:
    """What the traces of one NPU cannot say."""
    traces, iteration = small()
    names = {attr.name for nodes in traces.ranks for node in nodes for attr in node.attrs}
    assert {ACKS, AFTER} <= names
    assert any(task.kind == "pp" and not task.profile.loads for task in iteration.tasks)


@pytest.mark.parametrize("kind", ["MEMORY_POOL", "PER_NPU_MEMORY_EXPANSION"])
def test_streamed_from_a_memory_they_end_there_too(kind: str) -> None:
    memory = MemoryFile.model_validate({"memory-type": kind, "remote-mem-bw": 256})
    traces, iteration = made("fred-d", FEW_LAYERS, FEW, memory=memory)
    assert end_s(traces, "fred-d", memory) == iteration.run.time_s
    assert end_s(traces, "fred-d") != iteration.run.time_s


def test_on_another_fabric_they_are_the_iteration_placed_as_here() -> None:
    traces, iteration = small()
    fabric = shared_topology("mesh:5x4")
    request = Request.of(fabric, FEW_LAYERS, FEW, placement="linear")
    there = simulate(request, fitting=False).iteration
    assert there.placement.npus == iteration.placement.npus
    assert end_s(traces, "mesh:5x4") == there.run.time_s
    assert end_s(traces, "mesh:4x4") is None  # too few NPUs


def changed(traces: Traces, edit: Callable[[Node], Node], *, ranks: int = 20) -> Traces:
    """Return traces with nodes of some ranks changed."""
    nodes = [[edit(node) for node in one] for one in traces.ranks[:ranks]]
    return replace(traces, ranks=[*nodes, *traces.ranks[ranks:]])


def with_attr(node: Node, name: str, kind: str, value: object) -> Node:
    attrs = tuple(one for one in node.attrs if one.name != name)
    return replace(node, attrs=(*attrs, Attr(name, kind, value)))  # pyright: ignore[reportArgumentType]


def test_compute_that_is_longer_everywhere_makes_it_longer() -> None:
    """The nodes say how long it takes, and not what was written along with them."""

    def twice(node: Node) -> Node:
        if node.type != NodeType.COMP_NODE:
            return node
        seconds = {one.name: one.value for one in node.attrs}[EXACT]
        assert isinstance(seconds, float)
        node = with_attr(node, DURATION_NS, "int64", round(2e9 * seconds))
        return with_attr(node, EXACT, "double", 2 * seconds)

    traces, iteration = small()
    longer = end_s(changed(traces, twice), "fred-d")
    assert longer is not None and longer > iteration.run.time_s


EDITS: dict[str, Callable[[Node], Node]] = {
    "duration": lambda node: with_attr(node, DURATION_NS, "int64", 5),
    "kind of a duration": lambda node: with_attr(node, DURATION_NS, "string", "5"),
    "bytes": lambda node: with_attr(node, "comm_size", "int64", 5),
    "bytes of memory": lambda node: with_attr(node, "tensor_size", "uint64", 5),
    "local memory": lambda node: with_attr(node, "tensor_loc", "int64", 1),
    "group": lambda node: with_attr(node, "pg_name", "string", "999"),
    "on the CPU": lambda node: with_attr(node, "is_cpu_op", "bool", True),
    "collective": lambda node: with_attr(node, "comm_type", "int64", 6),
    "tag": lambda node: with_attr(node, "comm_tag", "int64", 0),
    "end": lambda node: with_attr(node, "comm_dst", "string", "x"),
    "no task": lambda node: with_attr(node, TASK, "", None),
    "another task": lambda node: with_attr(node, TASK, "int64_list", (0, 0)),
    "a task of words": lambda node: with_attr(node, TASK, "string_list", ("a", "b")),
    "no time": lambda node: with_attr(node, EXACT, "double", float("nan")),
    "no acks": lambda node: with_attr(node, ACKS, "int64", 1 << 40),
    "after nothing": lambda node: with_attr(node, AFTER, "int64_list", (1 << 40,)),
    "dependency": lambda node: replace(node, data_deps=()),
    "one that is not there": lambda node: replace(node, data_deps=(1 << 40,)),
    "type": lambda node: replace(node, type=NodeType.METADATA_NODE),
    "id": lambda node: replace(node, id=1),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_changed_trace_is_no_iteration(edit: Callable[[Node], Node]) -> None:
    """What one NPU does otherwise would be done by none."""
    traces, _ = small()
    assert end_s(traces, "fred-d") is not None
    assert end_s(changed(traces, edit, ranks=1), "fred-d") is None


@pytest.mark.parametrize(
    "attrs",
    [
        (),
        (Attr(STRATEGY, "string", FEW),),
        (Attr(STRATEGY, "string", "MP2"), Attr(NPUS, "int64_list", tuple(range(16)))),
        (Attr(STRATEGY, "string", FEW), Attr(NPUS, "int64_list", (0,) * 16)),
        (Attr(STRATEGY, "string", "MP4-DP2-PP2"), Attr(NPUS, "int64_list", tuple(range(16)))),
        (Attr(STRATEGY, "int64", 4), Attr(NPUS, "int64", 20)),
    ],
)
def test_without_who_runs_where_it_is_no_iteration(attrs: tuple[Attr, ...]) -> None:
    traces, _ = small()
    assert end_s(replace(traces, metadata=Metadata("0.0.4", attrs)), "fred-d") is None


def test_groups_are_those_of_the_traces() -> None:
    traces, _ = small()
    groups = {name: members[:-1] for name, members in traces.groups.items()}
    assert end_s(replace(traces, groups=groups), "fred-d") is None
    assert end_s(replace(traces, ranks=traces.ranks[:15]), "fred-d") is None
    assert end_s(replace(traces, ranks=[]), "fred-d") is None


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    traces, _ = small()
    for rank, nodes in enumerate(traces.ranks):
        write(trace_path(tmp_path / "w", rank), nodes, metadata=traces.metadata)
    (tmp_path / "system.yaml").write_text("all-reduce-implementation: [ring]\n")
    groups = ", ".join(f'"{name}": {members}' for name, members in traces.groups.items())
    (tmp_path / "groups.json").write_text(f"{{{groups}}}")
    return tmp_path / "w"


def inputs(prefix: Path, **more: object) -> Inputs:
    found = Inputs(prefix.with_name("system.yaml"), groups=(prefix.with_name("groups.json"),))
    return replace(found, **more)  # pyright: ignore[reportArgumentType]


def test_files_run_as_the_iteration_on_fabrics_of_ours(prefix: Path) -> None:
    _, iteration = small()
    (found,) = estimate_traces(str(prefix), ["fred-d"], inputs(prefix))
    assert found.total_ns == round(1e9 * iteration.time_s)
    assert "traces that were exported from an iteration are run as its tasks" in (
        found.provenance.assumptions
    )
    busy_ns = max(one.compute_ns for one in found.ranks)
    assert busy_ns == pytest.approx(1e9 * iteration.busy_s, abs=len(iteration.tasks))
    for one in found.ranks:
        assert one.overlap_ns <= min(one.compute_ns, one.communication_ns)
        assert one.exposed_communication_ns == one.total_ns - one.compute_ns


def test_exposed_time_is_that_of_the_iteration(prefix: Path) -> None:
    """The rank that ends last waits as long in the traces as in the iteration itself."""
    fabric = shared_topology("fred-d")
    found = estimate(Request.of(fabric, FEW_LAYERS, FEW))
    (traced,) = estimate_traces(str(prefix), ["fred-d"], inputs(prefix))
    last = max(traced.ranks, key=lambda one: one.total_ns)
    assert last.rank == found.rank
    assert last.exposed_communication_ns == pytest.approx(1e9 * found.exposed_s.total_s, abs=10)
    assert last.compute_ns == pytest.approx(1e9 * found.compute_s, abs=10)


def test_with_a_roofline_compute_takes_as_long_as_the_system_says(
    prefix: Path, tmp_path: Path
) -> None:
    traces, iteration = small()
    by_memory = "roofline-enabled: 1\npeak-perf: 1e9\nlocal-mem-bw: 3000\n"
    (tmp_path / "system.yaml").write_text(by_memory)
    (found,) = estimate_traces(str(prefix), ["fred-d"], inputs(prefix))
    assert "traces that were exported from an iteration are run as its tasks" in (
        found.provenance.assumptions
    )
    for rank in found.ranks:
        moved = [
            node.integer("tensor_size")
            for node in traces.ranks[rank.rank]
            if node.type == NodeType.COMP_NODE
        ]
        assert rank.compute_ns == pytest.approx(sum(moved) / 3000, abs=len(moved))
    assert found.total_ns > 1e9 * (iteration.time_s - iteration.busy_s)


def test_traces_without_operations_do_not_run_with_a_roofline() -> None:
    def without(node: Node) -> Node:
        return replace(node, attrs=tuple(one for one in node.attrs if one.name != "num_ops"))

    traces, iteration = small()
    older = changed(traces, without)
    assert end_s(older, "fred-d") == iteration.run.time_s
    files = [(older.metadata, nodes) for nodes in older.ranks]
    found = exported_of(files, older.groups)
    assert found
    assert run_exported(found, shared_topology("fred-d"), roofline_ns=lambda *_: 1) is None


def test_others_run_node_by_node(prefix: Path, tmp_path: Path) -> None:
    """Several jobs, and systems that say something else of nodes."""
    memory = written(
        tmp_path / "memory.yaml", "memory-type: PER_NPU_MEMORY_EXPANSION\nremote-mem-bw: 256\n"
    )
    given = inputs(prefix, memory=memory)
    (alone,) = estimate_traces(str(prefix), ["fred-d"], given)
    (job,) = estimate_jobs([JobRequest(str(prefix), tuple(range(20)))], ["fred-d"], given)
    assert job.total_ns != alone.total_ns
    assert job.total_ns == pytest.approx(alone.total_ns, rel=0.5)  # latencies decide
    (tmp_path / "system.yaml").write_text("replay-only: 1\n")
    (replayed,) = estimate_traces(str(prefix), ["fred-d"], given)
    assert replayed.total_ns != alone.total_ns


def test_a_file_that_cannot_be_read_is_no_iteration(prefix: Path) -> None:
    traces, _ = small()
    assert load_exported(prefix, traces.groups) is not None
    path = trace_path(prefix, 3)
    path.write_bytes(path.read_bytes()[:-3])
    assert load_exported(prefix, traces.groups) is None
    assert load_exported(prefix.with_name("none"), traces.groups) is None


def test_the_run_of_an_exported_iteration_has_the_energy_of_the_iteration() -> None:
    """Operations in traces are whole numbers."""
    traces, _ = small()
    request = Request.of(shared_topology("fred-d"), FEW_LAYERS, FEW)
    want = summarize(simulate(request, fitting=False))
    run = ran(traces, "fred-d")
    assert run
    found = run.figures(read_energy("wafer"), want.iteration_time_s)
    assert found.energy and want.energy and not found.absent
    assert found.energy.parts_j == pytest.approx(want.energy.parts_j, rel=1e-5)
    assert found.energy.uses_j == pytest.approx(want.energy.uses_j, rel=1e-5)
    assert found.link_bytes == want.link_bytes and found.utilization == want.utilization
    assert run.figures(read_energy("wafer"), want.iteration_time_s) == found
