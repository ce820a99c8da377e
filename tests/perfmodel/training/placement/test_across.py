"""Tests of perfmodel.training.placement.across, and of placements on several wafers."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.training.placement.across import Across, divisions
from perfmodel.training.placement.place import fits, place
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.workloads.workload import load_workload
from tests.perfmodel.topology.test_wafers import wafers


@given(
    st.builds(Strategy, *[st.integers(1, 6)] * 3, cp=st.integers(1, 2)),
    st.integers(1, 6),
    st.integers(1, 24),
)
def test_divisions_fit_and_keep_groups_together(strategy: Strategy, wafers: int, npus: int) -> None:
    for one in divisions(strategy, wafers, npus):
        places = [one.place(port) for port in range(strategy.workers)]
        assert len(set(places)) == strategy.workers
        assert all(0 <= wafer < wafers and 0 <= place < npus for wafer, place in places)
        inner = strategy.mp * strategy.cp
        for first in range(0, strategy.workers, inner):
            group = places[first : first + inner]
            assert len({wafer for wafer, _ in group}) == 1
            assert [place for _, place in group] == list(range(group[0][1], group[0][1] + inner))


@given(st.builds(Strategy, *[st.integers(1, 6)] * 3), st.integers(1, 24))
def test_strategy_that_fits_one_wafer_is_not_divided(strategy: Strategy, npus: int) -> None:
    if strategy.workers <= npus:
        assert [(one.pp, one.dp) for one in divisions(strategy, 4, npus)] == [(1, 1)]


@given(
    st.builds(Strategy, *[st.integers(1, 6)] * 3, cp=st.integers(1, 2)),
    st.integers(1, 40),
    st.integers(1, 24),
)
def test_divisions_use_no_more_wafers_than_needed(
    strategy: Strategy, wafers: int, npus: int
) -> None:
    every = [Across(strategy, pp, dp) for pp, dp in product(range(1, 41), repeat=2)]
    fit = {(one.pp, one.dp) for one in every if one.pp * one.dp <= wafers and one.workers <= npus}
    least = {one for one in fit if not any(a <= one[0] and b <= one[1] for a, b in fit - {one})}
    found = divisions(strategy, wafers, npus)
    assert [(one.pp, one.dp) for one in found if not one.groups] == sorted(least)
    inner = strategy.mp * strategy.cp
    assert bool(found) == (wafers * (npus // inner) * inner >= strategy.workers or bool(least))


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        ("MP4-DP10-PP1", [(1, 2)]),
        ("MP4-DP5-PP2", [(1, 3), (2, 1)]),
        ("MP2-DP10-PP2", [(1, 2), (2, 1)]),
        ("MP5-DP4-PP4", [(1, 4), (2, 2), (4, 1)]),
        ("MP20-DP2-PP2", [(2, 2)]),
        ("MP7-DP5-PP1", [(1, 3)]),
        ("MP3-DP24-PP1", [(1, 4)]),
        ("MP3-DP25-PP1", []),
        ("MP4-DP19-PP1", [(1, 4)]),
        ("MP21-DP1-PP1", []),
    ],
)
def test_dp_or_pp_spans_wafers(strategy: str, wanted: list[tuple[int, int]]) -> None:
    found = divisions(Strategy.parse(strategy), 4, 20)
    assert [(one.pp, one.dp) for one in found] == wanted


@pytest.mark.parametrize("wafer", ["fred-d", "mesh:5x4"])
def test_auto_takes_what_communicates_least(wafer: str) -> None:
    # Pipelines across wafers send activations, replicas across wafers reduce gradients: here less.
    job = load_workload("resnet-152")
    request = Request.of(wafers(2, wafer), job, "MP1-DP20-PP2")
    placed = default_placement(request)
    assert placed.policy.endswith("DP over 2 wafers")
    for stage in range(2):
        for group in placed.dp_groups(stage):
            assert {npu // 20 for npu in group} == {0, 1}


def test_placement_names_what_spans_wafers() -> None:
    topology = wafers(4, "mesh:5x4")
    placed = place(topology, Strategy(20, 2, 2), "snake")
    assert placed.policy == "snake, PP over 2 wafers and DP over 2 wafers"
    assert placed.mp_groups(0) == (
        tuple(place(wafers(1, "mesh:5x4"), Strategy(20, 1, 1), "snake").npus),
        tuple(40 + npu for npu in placed.mp_groups(0)[0]),
    )


def test_groups_that_do_not_divide_evenly_fill_wafers_in_order() -> None:
    # Seven replicas of two stages: 14 groups of 4, of which a wafer has five.
    [found] = divisions(Strategy(4, 7, 2), 3, 20)
    assert found.words == "MP groups in order over 3 wafers"
    assert [found.place(4 * group) for group in (0, 4, 5, 13)] == [(0, 0), (0, 16), (1, 0), (2, 12)]
    assert divisions(Strategy(4, 8, 2), 3, 20) == []


def test_model_parallel_group_larger_than_a_wafer_is_refused() -> None:
    topology, strategy = wafers(2), Strategy(24, 1, 1)
    assert not fits(topology, strategy) and fits(topology, Strategy(20, 2, 1))
    with pytest.raises(InputError, match="must fit 2 wafers of 20 NPUs with each MP group on one"):
        place(topology, strategy)
