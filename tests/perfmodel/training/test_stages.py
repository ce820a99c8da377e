"""Tests of perfmodel.training.stages."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.training.stages import balanced_stages


def largest(costs: Sequence[float], cuts: Sequence[range]) -> float:
    return max(sum(costs[i] for i in cut) for cut in cuts)


def least_largest(costs: Sequence[float], stages: int) -> float:
    """Return the largest cost of the best of all ways to cut."""
    ways = combinations(range(1, len(costs)), stages - 1)
    return min(
        max(sum(costs[a:b]) for a, b in zip((0, *cuts), (*cuts, len(costs)), strict=True))
        for cuts in ways
    )


@pytest.mark.parametrize("cost", [st.integers(0, 9).map(float), st.floats(1e-9, 1e3)])
@given(st.data())
def test_costs_are_cut_as_well_as_by_brute_force(
    cost: st.SearchStrategy[float], data: st.DataObject
) -> None:
    costs = data.draw(st.lists(cost, min_size=1, max_size=9))
    stages = data.draw(st.integers(1, len(costs)))
    cuts = balanced_stages(costs, stages)
    assert len(cuts) == stages and all(len(cut) for cut in cuts)
    assert [i for cut in cuts for i in cut] == list(range(len(costs)))
    assert largest(costs, cuts) == pytest.approx(least_largest(costs, stages), rel=1e-9)


@pytest.mark.parametrize(
    ("costs", "stages", "expected"),
    [
        ([1.0] * 6, 3, [range(2), range(2, 4), range(4, 6)]),
        ([9.0, 1.0, 1.0, 1.0], 2, [range(1), range(1, 4)]),
        ([1.0, 1.0, 1.0, 9.0], 2, [range(3), range(3, 4)]),
        ([5.0], 1, [range(1)]),
        ([1.0, 2.0, 3.0], 3, [range(1), range(1, 2), range(2, 3)]),
    ],
)
def test_stages_worked_by_hand(costs: list[float], stages: int, expected: list[range]) -> None:
    assert balanced_stages(costs, stages) == expected


def test_layers_without_cost_still_fill_every_stage() -> None:
    assert [len(cut) for cut in balanced_stages([0.0] * 4, 4)] == [1, 1, 1, 1]


def test_hundreds_of_layers_are_cut_close_to_the_mean() -> None:
    costs = [1.0 + i % 3 for i in range(600)]
    assert largest(costs, balanced_stages(costs, 20)) <= sum(costs) / 20 + max(costs)
