"""Tests of perfmodel.training.waits: exposed time by hand."""

import pytest

from perfmodel.network.fluid.task import Profile, Task
from perfmodel.network.fluid.tasks import Simulation
from perfmodel.training.waits import waits_s


def waited(tasks: list[Task], stage: int) -> dict[str, float]:
    """Return what an NPU of a stage waits for, without what it does not wait for."""
    found = waits_s(tasks, Simulation(tasks, ()).run(), stage)
    return {kind: time_s for kind, time_s in found.items() if time_s}


def task(kind: str, stage: int, time_s: float, *after: int) -> Task:
    return Task(kind, stage, kind, Profile(time_s), after)


PIPELINE = [
    task("compute", 0, 5.0),
    task("pp", 0, 1.0, 0),
    task("compute", 1, 7.0, 1),
    task("pp", 1, 2.0, 2),
    task("compute", 0, 10.0, 3),
    task("dp", 0, 4.0, 4),
    task("dp", 1, 3.0, 2),
]
"""One microbatch on two stages: 5 + 1 + 7 + 2 + 10 + 4 = 29 s."""


def test_a_stage_waits_for_messages_and_for_compute_of_others() -> None:
    assert waited(PIPELINE, 0) == {"pp": 3.0, "bubble": 7.0, "dp": 4.0}
    assert waited(PIPELINE, 1) == {"pp": 3.0, "bubble": 15.0, "dp": 4.0}


@pytest.mark.parametrize(("stage", "compute_s"), [(0, 15.0), (1, 7.0)])
def test_compute_and_exposed_time_are_the_iteration(stage: int, compute_s: float) -> None:
    assert sum(waited(PIPELINE, stage).values()) == 29.0 - compute_s


def test_communication_beside_compute_is_not_exposed() -> None:
    load = task("weight_streaming", 0, 8.0)
    tasks = [task("compute", 0, 5.0), load, task("compute", 0, 1.0, 0, 1)]
    assert waited(tasks, 0) == {"weight_streaming": 3.0}


def test_what_ends_with_compute_of_another_stage_is_hidden_behind_it() -> None:
    tasks = [task("compute", 1, 5.0), task("input_load", 0, 5.0), task("compute", 0, 1.0, 0, 1)]
    assert waited(tasks, 0) == {"bubble": 5.0}


def test_a_stage_without_compute_waits_all_the_time() -> None:
    assert waited([task("compute", 0, 5.0), task("pp", 0, 1.0, 0)], 1) == {"bubble": 5.0, "pp": 1.0}
