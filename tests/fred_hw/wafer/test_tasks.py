"""Tests of fred_hw.wafer.tasks."""

from dataclasses import replace

import pytest

from fred_hw.wafer.tasks import Task, check_tasks

WORK = Task(name="work", cycles=5)
SUM = Task(name="sum", after=(0,), inputs=(0, 1), outputs=(0, 1), size=8)


def test_tasks_that_go_together_pass() -> None:
    check_tasks([[WORK, SUM, replace(SUM, after=(1,), size=4)], [WORK, SUM, replace(SUM, size=4)]])


@pytest.mark.parametrize(
    ("npus", "message"),
    [
        ([[SUM], [WORK, SUM]], r"task 0 of NPU 0 must wait only for earlier tasks, not \(0,\)"),
        ([[WORK], [WORK, SUM]], r"flow \[0, 1\] -> \[0, 1\] must have tasks of the same sizes"),
        ([[WORK, replace(SUM, size=4)], [WORK, SUM]], r"must have tasks of the same sizes"),
        ([[WORK], [WORK], [WORK, SUM]], r"task 1 of NPU 2 must belong to a flow of this NPU"),
    ],
)
def test_tasks_that_do_not_are_refused(npus: list[list[Task]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_tasks(npus)


@pytest.mark.parametrize(("cycles", "size"), [(0, 0), (3, 8)])
def test_a_task_computes_or_sends(cycles: int, size: int) -> None:
    with pytest.raises(ValueError, match="must compute for some cycles or send some bytes"):
        Task(name="both", cycles=cycles, size=size)
