"""Tests of perfmodel.training.schedule and of how layers become stages."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.training.schedule import SCHEDULES, microbatches_held, stage_order
from perfmodel.training.stages import balanced_stages


def words(schedule: str, stage: int, stages: int, microbatches: int) -> str:
    order = stage_order(schedule, stage, stages, microbatches)
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


@given(st.sampled_from(SCHEDULES), st.integers(1, 8), st.integers(1, 12), st.data())
def test_every_pass_comes_once_and_backward_after_forward(
    schedule: str, stages: int, microbatches: int, data: st.DataObject
) -> None:
    stage = data.draw(st.integers(0, stages - 1))
    order = stage_order(schedule, stage, stages, microbatches)
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


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.data())
def test_stages_are_the_best_balanced_ones(costs: list[int], data: st.DataObject) -> None:
    stages = data.draw(st.integers(1, len(costs)))
    cuts = balanced_stages([float(cost) for cost in costs], stages)
    assert len(cuts) == stages
    assert [i for cut in cuts for i in cut] == list(range(len(costs)))
    assert all(len(cut) for cut in cuts)
    best = min(
        max(sum(costs[a:b]) for a, b in zip((0, *inner), (*inner, len(costs)), strict=True))
        for inner in combinations(range(1, len(costs)), stages - 1)
    )
    assert max(sum(costs[i] for i in cut) for cut in cuts) == pytest.approx(best)
