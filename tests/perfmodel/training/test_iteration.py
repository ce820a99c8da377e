"""Tests of perfmodel.training: tasks of an iteration, its parts, memory and timeline."""

from dataclasses import replace

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.compute import Npu
from perfmodel.constants import MESH_LINK_BYTES_PER_S
from perfmodel.fluid.tasks import run_tasks
from perfmodel.networks.layers import Layer, Operator
from perfmodel.topology.files import MeshFile
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.graph import Job, Stage, stationary_tasks, streaming_tasks
from perfmodel.training.iteration import Iteration, simulate_iteration
from perfmodel.training.memory import memory
from perfmodel.training.operations import Operations
from perfmodel.training.placement import place
from perfmodel.training.search import default_placement
from perfmodel.training.trace import chrome_trace
from perfmodel.workload import WORKLOADS, Workload, load_workload

FORWARD_S, BACKWARD_S = 1.0, 2.0


def run(
    topology: str, workload: str | Workload, strategy: str | None = None, **more: object
) -> Iteration:
    job = load_workload(workload) if isinstance(workload, str) else workload
    job = replace(job, **more)
    wanted = Strategy.parse(strategy) if strategy else job.strategy
    fabric = parse_topology(topology)
    return simulate_iteration(fabric, job, default_placement(fabric, job, wanted), Npu())


def layer(output: int = 1, parameters: int = 1) -> Layer:
    weights = Operator("product", "matmul", 1.0, parameters, 1.0)
    return Layer("layer", (weights,), output, 1.0)


def pipeline_s(stages: int, microbatches: int, schedule: str) -> float:
    """Return the time of a pipeline of equal stages, its messages being next to nothing."""
    placed = place(parse_topology("fred-d"), Strategy(1, 1, stages))
    operations = Operations(parse_topology("fred-d"), placed)
    times = (FORWARD_S, BACKWARD_S)
    job = Job(operations, lambda _: times, 1.0, microbatches, schedule, False, 0.0)
    tasks = stationary_tasks([Stage((layer(),)) for _ in range(stages)], 1, job)
    return run_tasks(tasks, operations.topology.capacities).time_s


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("stages", "microbatches"), [(1, 1), (1, 4), (2, 1), (4, 8), (5, 5)])
def test_pipeline_takes_its_closed_form(stages: int, microbatches: int, schedule: str) -> None:
    # GPipe, arXiv 1811.06965: (M + P - 1) slots; 1F1B has the same bubble.
    expected = (microbatches + stages - 1) * (FORWARD_S + BACKWARD_S)
    assert pipeline_s(stages, microbatches, schedule) == pytest.approx(expected, rel=1e-5)


def test_streaming_loads_every_layer_twice_and_stores_it_once() -> None:
    placed = place(parse_topology("fred-d"), Strategy(1, 10, 2))
    operations = Operations(parse_topology("fred-d"), placed)
    job = Job(operations, lambda _: (1.0, 2.0), 1.0, 2, "1f1b", False, 0.0)
    tasks = streaming_tasks([layer(parameters=10**6)] * 6, 2, 1, job)
    names = [task.name for task in tasks if task.kind == "weight_streaming"]
    assert sum("forward" in name for name in names) == 6
    assert sum("backward" in name for name in names) == 6
    assert sum("gradients" in name for name in names) == 6
    assert sum(task.kind == "compute" for task in tasks) == 6 * 2 * 2


def test_streaming_hides_behind_compute_and_compute_behind_streaming() -> None:
    fabric = parse_topology("fred-d")
    placed = place(fabric, Strategy(1, 20, 1))
    for seconds, bound in ((1.0, "compute"), (1e-9, "weight_streaming")):
        operations = Operations(fabric, placed)
        times = (seconds, 2 * seconds)
        job = Job(operations, lambda _, t=times: t, 1.0, 1, "1f1b", False, 0.0)
        tasks = streaming_tasks([layer(parameters=10**9)] * 12, 1, 1, job)
        load = operations.load_weights(0, 10**9)
        assert load is not None
        expected = 36 * seconds if bound == "compute" else 24 * load.time_s
        found = run_tasks(tasks, fabric.capacities).time_s
        assert expected <= found <= expected + 2 * load.time_s


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("topology", FABRICS)
def test_parts_add_up_to_the_iteration(topology: str, workload: str) -> None:
    found = run(topology, workload)
    assert found.time_s == pytest.approx(found.run.time_s, rel=1e-12)
    assert all(seconds >= 0 for seconds in found.parts_s.values())
    assert found.busy_s <= found.time_s


@pytest.mark.parametrize("strategy", ["MP7-DP1-PP2", "MP1-DP3-PP5", "MP3-DP2-PP3", "MP1-DP1-PP1"])
@pytest.mark.parametrize("topology", FABRICS)
def test_strategies_that_are_not_aligned_run(topology: str, strategy: str) -> None:
    for mode in ("stationary", "streaming"):
        found = run(topology, "transformer-17b", strategy, mode=mode)
        assert found.time_s == pytest.approx(found.run.time_s, rel=1e-12)


def test_overlap_hides_gradients_and_is_never_slower() -> None:
    whole, hidden = (run("mesh:5x4", "transformer-17b", overlap=on) for on in (False, True))
    assert hidden.time_s < whole.time_s
    assert hidden.parts_s["dp"] < 0.2 * whole.parts_s["dp"]


def test_gpipe_and_1f1b_take_about_the_same_time_and_not_the_same_memory() -> None:
    one, other = (run("fred-d", "transformer-17b", schedule=name) for name in ("gpipe", "1f1b"))
    assert one.time_s == pytest.approx(other.time_s, rel=0.02)
    assert one.memory.activations_bytes == pytest.approx(4 * other.memory.activations_bytes)


def test_wider_links_are_never_slower() -> None:
    job = load_workload("gpt-3")
    times = []
    for factor in (1, 2, 4):
        mesh = MeshFile(
            kind="mesh", columns=5, rows=4, link_bytes_per_s=factor * MESH_LINK_BYTES_PER_S
        ).build(f"x{factor}")
        placed = place(mesh, job.strategy, "columns")
        times.append(simulate_iteration(mesh, job, placed, Npu()).time_s)
    assert times == sorted(times, reverse=True) and times[0] > times[-1]


def test_all_reduces_of_a_layer_are_waited_for() -> None:
    found = run("fred-c", "transformer-17b", "MP20-DP1-PP1", microbatches=1)
    layers = 78
    assert sum(task.kind == "mp" for task in found.tasks) == 4 * layers + 2 * 2
    assert found.parts_s["mp"] == pytest.approx(found.communication_s["mp"])
    assert found.parts_s["compute"] == pytest.approx(found.busy_s)


@pytest.mark.parametrize(
    ("workload", "strategy", "message"),
    [
        (
            "resnet-152",
            "MP1-DP1-PP53",
            "must have at most the 52 layers of resnet-152 as stages, not 53 as MP1-DP1-PP53",
        ),
        (
            "resnet-152",
            "MP2-DP10-PP1",
            "must have MP1, as the layers of resnet-152 do not split, not MP2-DP10-PP1",
        ),
    ],
)
def test_strategy_that_does_not_go_with_the_layers_is_refused(
    workload: str, strategy: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"^strategy: {message}$"):
        run("mesh:8x8", workload, strategy)


def test_memory_of_zero_stage_two_worked_by_hand() -> None:
    job = replace(load_workload("transformer-17b"), microbatches=1, samples_per_replica=1)
    need = memory(job, Strategy(2, 4, 1), [[layer(parameters=1000)]], 80e9)
    assert need.weights_bytes == 2 * 1000 / 2
    assert need.gradients_bytes == 2 * 1000 / 2 / 4
    assert need.optimizer_bytes == 12 * 1000 / 2 / 4
    assert need.state_bytes == 1000 + 250 + 1500
    assert need.activations_bytes == 2 * 1 / 2


@pytest.mark.parametrize(
    ("workload", "mode", "verdict"),
    [
        ("resnet-152", "stationary", "fits"),
        ("transformer-17b", "stationary", "fits"),
        ("gpt-3", "streaming", "fits if recomputed"),
        ("gpt-3", "stationary", "weights do not fit"),
        ("transformer-1t", "streaming", "activations do not fit"),
    ],
)
def test_memory_verdicts(workload: str, mode: str, verdict: str) -> None:
    assert run("fred-d", workload, mode=mode).memory.verdict == verdict


def test_timeline_has_every_task_of_every_npu() -> None:
    found = run("fred-d", "transformer-17b")
    trace = chrome_trace(found, "title")
    events = trace["traceEvents"]
    assert isinstance(events, list)
    tasks = [event for event in events if event["ph"] == "X"]
    assert {event["pid"] for event in tasks} == set(range(18))
    assert {event["ph"] for event in events} == {"X", "M"}
    for npu in range(18):
        busy = sum(e["dur"] for e in tasks if e["pid"] == npu and e["cat"] == "compute")
        assert busy / 1e6 == pytest.approx(found.busy_s, rel=0.05)
    assert max(e["ts"] + e["dur"] for e in tasks) / 1e6 == pytest.approx(found.time_s)
