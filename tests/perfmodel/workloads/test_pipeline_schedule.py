"""Tests of perfmodel.workloads.pipeline_schedule and of the schedules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.workloads.pipeline_schedule import SCHEDULES, microbatches_held


def words(schedule: str, stage: int, stages: int, microbatches: int) -> str:
    order = SCHEDULES[schedule](stage, stages, microbatches)
    return " ".join(f"{way[0]}{number}" for way, number in order)


@pytest.mark.parametrize(
    ("schedule", "stage", "expected"),
    [
        ("gpipe", 0, "f0 f1 f2 b0 b1 b2"),
        ("gpipe", 1, "f0 f1 f2 b0 b1 b2"),
        ("1f1b", 0, "f0 f1 b0 f2 b1 b2"),
        ("1f1b", 1, "f0 b0 f1 b1 f2 b2"),
    ],
)
def test_order_of_two_stages_and_three_microbatches(
    schedule: str, stage: int, expected: str
) -> None:
    assert words(schedule, stage, 2, 3) == expected


@given(st.sampled_from(list(SCHEDULES)), st.integers(1, 8), st.integers(1, 12), st.data())
def test_every_pass_comes_once_and_backward_after_forward(
    schedule: str, stages: int, microbatches: int, data: st.DataObject
) -> None:
    stage = data.draw(st.integers(0, stages - 1))
    order = SCHEDULES[schedule](stage, stages, microbatches)
    assert sorted(order) == sorted(
        (way, number) for way in ("forward", "backward") for number in range(microbatches)
    )
    held = most = 0
    for way, number in order:
        held += 1 if way == "forward" else -1
        most = max(most, held)
        if way == "backward":
            assert order.index(("forward", number)) < order.index((way, number))
    assert most <= microbatches_held(schedule, stages, microbatches)


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (0, "f0 f1 f2 f3 b0 f4 b1 f5 b2 b3 b4 b5"),
        (1, "f0 f1 f2 b0 f3 b1 f4 b2 f5 b3 b4 b5"),
        (2, "f0 f1 b0 f2 b1 f3 b2 f4 b3 f5 b4 b5"),
        (3, "f0 b0 f1 b1 f2 b2 f3 b3 f4 b4 f5 b5"),
    ],
)
def test_1f1b_of_four_stages_and_six_microbatches(stage: int, expected: str) -> None:
    assert words("1f1b", stage, 4, 6) == expected


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_microbatch_goes_there_and_back(schedule: str) -> None:
    assert [words(schedule, stage, 3, 1) for stage in range(3)] == ["f0 b0"] * 3


@pytest.mark.parametrize(
    ("schedule", "stages", "microbatches", "expected"),
    [("gpipe", 4, 8, 8), ("1f1b", 4, 8, 4), ("1f1b", 8, 4, 4), ("gpipe", 8, 4, 4)],
)
def test_first_stage_holds_so_many_microbatches(
    schedule: str, stages: int, microbatches: int, expected: int
) -> None:
    assert microbatches_held(schedule, stages, microbatches) == expected


@given(st.sampled_from(list(SCHEDULES)), st.integers(1, 8), st.integers(1, 12))
def test_stages_in_these_orders_never_wait_for_each_other_in_a_circle(
    schedule: str, stages: int, microbatches: int
) -> None:
    left = [list(SCHEDULES[schedule](stage, stages, microbatches)) for stage in range(stages)]
    done: set[tuple[str, int, int]] = set()
    moved = True
    while moved:
        moved = False
        for stage, order in enumerate(left):
            while order:
                way, number = order[0]
                before = stage - 1 if way == "forward" else stage + 1
                first = way == "forward" and stage == 0
                turn = way == "backward" and stage == stages - 1
                needed = ("forward", stage, number) if turn else (way, before, number)
                if not first and needed not in done:
                    break
                done.add((way, stage, number))
                order.pop(0)
                moved = True
    assert not any(left)
