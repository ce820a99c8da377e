"""Tests of perfmodel.training.graph; a forward pass takes 1 s and messages next to nothing."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.compiler.placement import Strategy
from perfmodel.network.fluid.task import Task
from perfmodel.network.fluid.tasks import Run, Simulation
from perfmodel.topology.parse import shared_topology
from perfmodel.training.graph import PREFETCH, Job, Stage, Work, stationary_tasks, streaming_tasks
from perfmodel.training.operations import Operations
from perfmodel.training.parts import PRIORITIES
from perfmodel.training.placement.place import place
from perfmodel.workloads.layers import Layer, Operator
from perfmodel.workloads.pipeline_schedule import SCHEDULES
from tests.examples import examples

FABRIC = shared_topology("fred-d", "ideal")
FORWARD_S, BACKWARD_S = 1.0, 2.0


def layer(name: str = "layer", output: int = 1, parameters: int = 1, reductions: int = 0) -> Layer:
    weights = Operator("product", "matmul", 1.0, parameters, 1.0)
    return Layer(name, (weights,), output, 1.0, reductions, 10 * reductions, bool(reductions))


def job(strategy: Strategy, microbatches: int = 1, schedule: str = "1f1b") -> Job:
    return Job(
        operations=Operations(FABRIC, place(FABRIC, strategy)),
        work=lambda _: (Work(FORWARD_S), Work(BACKWARD_S)),
        samples=1.0,
        microbatches=microbatches,
        schedule=schedule,
        overlap=False,
        input_numbers=0.0,
    )


def stationary(layers: Sequence[Layer], one: Job) -> list[Task]:
    """Return the tasks of a stage for each layer."""
    mp = one.operations.placement.strategy.mp
    return stationary_tasks([Stage((layer,)) for layer in layers], mp, one)


def finish(tasks: Sequence[Task]) -> Run:
    return Simulation(tasks, FABRIC.capacities).run()


def names(tasks: Sequence[Task], kind: str) -> list[str]:
    return [task.name for task in tasks if task.kind == kind]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("stages", "microbatches"), [(1, 1), (1, 4), (2, 1), (4, 8), (5, 5), (20, 3)]
)
def test_pipeline_of_equal_stages_takes_its_closed_form(
    stages: int, microbatches: int, schedule: str
) -> None:
    # GPipe, arXiv 1811.06965: (M + P - 1) slots; 1F1B has the same bubble. No other may take less
    # than a stage works, nor longer than one microbatch after the other.
    tasks = stationary([layer()] * stages, job(Strategy(1, 1, stages), microbatches, schedule))
    slot_s, time_s = FORWARD_S + BACKWARD_S, finish(tasks).time_s
    assert microbatches * slot_s * (1 - 1e-5) <= time_s
    assert time_s <= microbatches * stages * slot_s * (1 + 1e-5)
    if schedule in ("1f1b", "gpipe"):
        assert time_s == pytest.approx((microbatches + stages - 1) * slot_s, rel=1e-5)


def test_two_stages_and_two_microbatches_of_gpipe_worked_by_hand() -> None:
    tasks = stationary([layer()] * 2, job(Strategy(1, 1, 2), 2, "gpipe"))
    run = finish(tasks)
    found = {
        (task.place, task.name): (round(start, 3), round(end, 3))
        for task, start, end in zip(tasks, run.start_s, run.end_s, strict=True)
        if task.kind == "compute"
    }
    assert found == {
        (0, "forward 0"): (0, 1),
        (0, "forward 1"): (1, 2),
        (1, "forward 0"): (1, 2),
        (1, "forward 1"): (2, 3),
        (1, "backward 0"): (3, 5),
        (1, "backward 1"): (5, 7),
        (0, "backward 0"): (5, 7),
        (0, "backward 1"): (7, 9),
    }


@examples(30)
@given(st.sampled_from(list(SCHEDULES)), st.integers(1, 6), st.integers(1, 7))
def test_every_stage_computes_in_the_order_of_its_schedule(
    schedule: str, stages: int, microbatches: int
) -> None:
    tasks = stationary([layer()] * stages, job(Strategy(1, 1, stages), microbatches, schedule))
    for stage in range(stages):
        found = names([task for task in tasks if task.place == stage], "compute")
        order = SCHEDULES[schedule](stage, stages, microbatches)
        assert found == [f"{direction} {number}" for direction, number in order]
    assert len(names(tasks, "pp")) == 2 * (stages - 1) * microbatches
    assert all(before < i for i, task in enumerate(tasks) for before in task.after)


def test_border_layer_decides_what_is_sent_both_ways() -> None:
    one = replace(job(Strategy(1, 1, 2)), samples=3.0)
    tasks = stationary([layer(output=10**6), layer(output=7)], one)
    sent = [task.profile for task in tasks if task.kind == "pp"]
    expected = [
        one.operations.pp_multicast(here, there, 3 * 10**6) for here, there in ((0, 1), (1, 0))
    ]
    assert sent == expected


def test_all_reduces_cut_a_layer_into_equal_parts() -> None:
    tasks = stationary([layer(reductions=2)], job(Strategy(4, 1, 1)))
    assert [(task.kind, task.after) for task in tasks] == [
        (kind, () if i == 0 else (i - 1,)) for i, kind in enumerate(("compute", "mp") * 4)
    ]
    times = [task.profile.time_s for task in tasks if task.kind == "compute"]
    assert times == [FORWARD_S / 2] * 2 + [BACKWARD_S / 2] * 2


def test_layer_that_is_not_split_has_no_all_reduce() -> None:
    tasks = stationary([layer(reductions=2)], job(Strategy(1, 1, 1)))
    assert [task.kind for task in tasks] == ["compute", "compute"]


def test_gradients_wait_for_the_last_backward_pass_of_their_stage() -> None:
    tasks = stationary([layer(parameters=10), layer(parameters=20)], job(Strategy(1, 4, 2), 3))
    reduced = [task for task in tasks if task.kind == "dp"]
    assert [task.place for task in reduced] == [0, 1]
    for task in reduced:
        assert [(tasks[i].place, tasks[i].name) for i in task.after] == [(task.place, "backward 2")]


def overlapped(strategy: Strategy, microbatches: int, *, overlap: bool) -> list[Task]:
    one = replace(job(strategy, microbatches), overlap=overlap)
    layers = tuple(layer(f"{i}", parameters=10**9 * (1 + i)) for i in range(4))
    stages = strategy.pp
    cut = [Stage(layers[s * 4 // stages : (s + 1) * 4 // stages]) for s in range(stages)]
    return stationary_tasks(cut, strategy.mp, one)


def test_overlap_reduces_each_layer_after_its_last_backward_pass() -> None:
    tasks = overlapped(Strategy(1, 5, 1), 2, overlap=True)
    assert names(tasks, "dp") == [f"gradients {i} all-reduce" for i in (3, 2, 1, 0)]
    for task in tasks:
        if task.kind == "dp":
            waited = [tasks[i].name for i in task.after if tasks[i].kind == "compute"]
            assert waited == [f"backward 1 {task.name.split()[1]}"]
    reduced = [i for i, task in enumerate(tasks) if task.kind == "dp"]
    for before, number in pairwise(reduced):
        assert before in tasks[number].after


@pytest.mark.parametrize(
    ("strategy", "microbatches"),
    [
        (Strategy(1, 20, 1), 1),
        (Strategy(2, 10, 1), 2),
        (Strategy(1, 5, 4), 4),
        (Strategy(2, 5, 2), 3),
    ],
    ids=str,
)
def test_overlap_is_never_slower_and_reduces_as_much(strategy: Strategy, microbatches: int) -> None:
    whole, hidden = (
        overlapped(strategy, microbatches, overlap=overlap) for overlap in (False, True)
    )
    assert finish(hidden).time_s <= finish(whole).time_s * (1 + 1e-9)

    def carried(tasks: list[Task]) -> float:
        moved = (load for task in tasks if task.kind == "dp" for _, load in task.profile.loads)
        return sum(moved)

    assert carried(hidden) == pytest.approx(carried(whole))


def test_input_of_the_next_iteration_waits_for_nothing() -> None:
    one = replace(job(Strategy(1, 4, 2), 2), input_numbers=100.0)
    for tasks in (stationary([layer()] * 2, one), streaming_tasks([layer()] * 2, 2, 1, one)):
        loads = [task for task in tasks if task.kind == "input_load"]
        assert len(loads) == 1 and loads[0].after == () and loads[0].place == 0


def test_more_urgent_communication_goes_first() -> None:
    order = sorted(PRIORITIES, key=lambda kind: PRIORITIES[kind])
    assert order == ["mp", "cp", "ep", "pp", "dp", "weight_streaming", "input_load"]
    one = replace(job(Strategy(2, 2, 2), 2), input_numbers=100.0)
    for tasks in (
        stationary([layer(reductions=2)] * 2, one),
        streaming_tasks([layer(reductions=2)] * 2, 2, 2, one),
    ):
        assert {task.kind for task in tasks} >= {"compute", "mp", "pp", "input_load"}
        assert all(task.priority == PRIORITIES.get(task.kind, 0) for task in tasks)


def streamed(stages: int, microbatches: int, count: int = 6) -> list[Task]:
    one = job(Strategy(1, 20 // stages, stages), microbatches)
    layers = [layer(f"{i}", parameters=10**6) for i in range(count)]
    return streaming_tasks(layers, stages, 1, one)


@pytest.mark.parametrize(("stages", "microbatches"), [(1, 1), (2, 2), (5, 3)])
def test_streaming_loads_every_layer_twice_and_stores_it_once(
    stages: int, microbatches: int
) -> None:
    tasks = streamed(stages, microbatches)
    found = names(tasks, "weight_streaming")
    assert [name for name in found if "weights" in name] == [
        *(f"weights of {i}, forward" for i in range(6)),
        *(f"weights of {i}, backward" for i in reversed(range(6))),
    ]
    assert [name for name in found if "gradients" in name] == [
        f"gradients of {i}" for i in reversed(range(6))
    ]
    assert len(names(tasks, "compute")) == 6 * 2 * microbatches
    assert not names(tasks, "dp")


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_streaming_deals_layers_to_stages_in_turn(stages: int) -> None:
    for task in streamed(stages, 2):
        if task.kind == "compute":
            assert task.place == int(task.name.split()[-1]) % stages


def test_all_microbatches_pass_a_layer_before_the_next_of_its_stage() -> None:
    found = names([task for task in streamed(2, 2) if task.place == 1], "compute")
    assert found == [
        f"{direction} {number} {i}"
        for direction, layers in (("forward", (1, 3, 5)), ("backward", (5, 3, 1)))
        for i in layers
        for number in range(2)
    ]


@pytest.mark.parametrize("stages", [1, 2])
def test_stage_has_room_for_the_layer_at_work_and_the_next_one(stages: int) -> None:
    tasks = streamed(stages, 2)
    run = finish(tasks)
    for stage in range(stages):
        here = [(i, task) for i, task in enumerate(tasks) if task.place == stage]
        starts = [run.start_s[i] for i, task in here if task.name.startswith("weights")]
        ends = [
            run.end_s[i]
            for i, task in here
            if task.name.startswith(("forward 1", "backward 1")) and task.kind == "compute"
        ]
        assert len(starts) == len(ends)
        for load_s, work_s in zip(starts[PREFETCH:], ends, strict=False):
            assert load_s >= work_s


@pytest.mark.parametrize(("seconds", "bound"), [(1.0, "compute"), (1e-9, "weight_streaming")])
def test_streaming_hides_behind_compute_and_compute_behind_streaming(
    seconds: float, bound: str
) -> None:
    one = replace(job(Strategy(1, 20, 1)), work=lambda _: (Work(seconds), Work(2 * seconds)))
    tasks = streaming_tasks([layer(parameters=10**9)] * 12, 1, 1, one)
    (load,) = one.operations.weights(0, 10**9, 0)
    assert load is not None
    expected = 36 * seconds if bound == "compute" else 24 * load.time_s
    assert expected <= finish(tasks).time_s <= expected + 2 * load.time_s


def test_layers_without_weights_are_neither_loaded_nor_stored() -> None:
    one = job(Strategy(1, 20, 1))
    tasks = streaming_tasks([layer("0", parameters=0), layer("1")], 1, 1, one)
    assert names(tasks, "weight_streaming") == [
        "weights of 1, forward",
        "weights of 1, backward",
        "gradients of 1",
    ]


def test_streamed_activations_go_round_the_stages_and_back() -> None:
    assert [(task.place, task.name) for task in streamed(2, 1, count=4) if task.kind == "pp"] == [
        (0, "forward 0 to stage 1"),
        (1, "forward 0 to stage 0"),
        (0, "forward 0 to stage 1"),
        (1, "backward 0 to stage 0"),
        (0, "backward 0 to stage 1"),
        (1, "backward 0 to stage 0"),
    ]


def test_source_waits_for_acks_before_it_sends_the_other_way() -> None:
    fabric = shared_topology("fred-d")
    strategy = Strategy(1, 1, 3)
    one = replace(job(strategy, 2), operations=Operations(fabric, place(fabric, strategy)))
    tasks = stationary([layer(f"layer {i}") for i in range(3)], one)
    waits = [task for task in tasks if task.name.startswith("acks")]
    # The stage in the middle sends forward twice before it sends back, then in turn.
    assert [(task.place, task.kind) for task in waits] == [(1, "pp")] * len(waits)
    sent = [task for task in tasks if task.kind == "pp" and task.place == 1 and task not in waits]
    directions = [task.name.split()[0] for task in sent]
    assert len(waits) == sum(a != b for a, b in pairwise(directions)) > 0
    for task in waits:
        (before,) = task.after
        assert task.profile.time_s == tasks[before].profile.ack_s > 0
        (follower,) = (other for other in tasks if tasks.index(task) in other.after)
        assert follower.name.split()[0] != tasks[before].name.split()[0]
    run = Simulation(tasks, fabric.capacities).run(scale=0.0)
    for i, task in enumerate(tasks):
        if task in waits:
            assert run.end_s[i] - run.start_s[i] == pytest.approx(task.profile.time_s)
