"""Tests of perfmodel.training.placement.place and of the policies."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.topology.parse import parse_topology
from perfmodel.training.placement.place import place
from perfmodel.training.placement.policy import POLICIES, Policy, fitting
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.workloads.workload import load_workload

GPT = Strategy(2, 5, 2)
COLUMNS = 12
FRED = parse_topology("fred-d")
MESH = parse_topology(f"mesh:{COLUMNS}x11")


@pytest.mark.parametrize(
    ("policy", "first"),
    [
        ("linear", [0, 1, 2, 3, 4, 5]),
        ("snake", [0, 1, 2, 3, 4, 9]),
        ("columns", [0, 5, 10, 15, 1, 6]),
        ("column_snake", [0, 5, 10, 15, 16, 11]),
        ("blocks", [0, 1, 6, 5, 2, 3]),
    ],
)
def test_walks_over_the_mesh(policy: str, first: list[int]) -> None:
    placed = place(parse_topology("mesh:5x4"), GPT, policy)
    assert list(placed.npus[:6]) == first
    assert sorted(placed.npus) == list(range(20))


@pytest.mark.parametrize("policy", fitting(MESH))
def test_every_walk_covers_meshes_of_odd_sides(policy: str) -> None:
    placed = place(parse_topology("mesh:3x5"), Strategy(1, 15, 1), policy)
    assert sorted(placed.npus) == list(range(15))


def test_auto_tries_only_policies_that_ask_for_it() -> None:
    backwards = Policy(lambda topology: range(topology.npus)[::-1])
    with POLICIES.lending("backwards", backwards):
        assert place(MESH, GPT, "backwards").npus[0] == MESH.npus - 1
        assert "backwards" in fitting(MESH)
        assert "backwards" not in fitting(MESH, auto=True)
        found = default_placement(Request.of(MESH, load_workload("gpt-3"), GPT))
        assert found.policy in fitting(MESH, auto=True)
    assert fitting(FRED, auto=True) == ("linear",)


def test_groups_of_mp2_dp5_pp2() -> None:
    placed = place(parse_topology("fred-d"), GPT)
    assert placed.mp_groups(0) == ((0, 1), (4, 5), (8, 9), (12, 13), (16, 17))
    assert placed.mp_groups(1)[0] == (2, 3)
    assert placed.dp_groups(0) == ((0, 4, 8, 12, 16), (1, 5, 9, 13, 17))
    assert placed.multicasts(0, 1)[:2] == ((0, 2, 3), (4, 6, 7))
    assert placed.multicasts(1, 0)[0] == (2, 0, 1)


@pytest.mark.parametrize(
    ("topology", "strategy", "policy", "message"),
    [
        (
            "fred-d",
            Strategy(3, 7, 1),
            "linear",
            "strategy: must fit the 20 NPUs of fred-d, not need 21 as MP3-DP7-PP1",
        ),
        (
            "mesh:5x4",
            GPT,
            "spiral",
            f"placement: must be one of auto, anneal, {', '.join(POLICIES)}, not 'spiral'",
        ),
        (
            "fred-d",
            GPT,
            "snake",
            f"placement: must be {', '.join(fitting(FRED))} for fred-d, not 'snake'",
        ),
    ],
)
def test_impossible_placement_is_refused(
    topology: str, strategy: Strategy, policy: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        place(parse_topology(topology), strategy, policy)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.sampled_from(fitting(MESH)))
def test_groups_of_any_strategy_cover_its_workers_once(
    mp: int, dp: int, pp: int, policy: str
) -> None:
    placed = place(MESH, Strategy(mp, dp, pp), policy)
    stages = range(pp)
    for groups, size in (
        ([group for s in stages for group in placed.mp_groups(s)], mp),
        ([group for s in stages for group in placed.dp_groups(s)], dp),
    ):
        assert {len(group) for group in groups} == {size}
        assert sorted(npu for group in groups for npu in group) == sorted(placed.npus)
    for stage in stages:
        members = [
            {npu for group in groups for npu in group}
            for groups in (placed.mp_groups(stage), placed.dp_groups(stage))
        ]
        assert members[0] == members[1]
        for one in placed.mp_groups(stage):
            for other in placed.dp_groups(stage):
                assert len(set(one) & set(other)) == 1


@given(st.integers(1, 4), st.integers(1, 4), st.integers(2, 4))
def test_multicasts_go_from_the_first_of_a_stage_to_all_of_another(
    mp: int, dp: int, pp: int
) -> None:
    placed = place(MESH, Strategy(mp, dp, pp), "snake")
    for here, there in ((0, 1), (1, 0), (pp - 1, 0)):
        found = placed.multicasts(here, there)
        assert [one[0] for one in found] == [group[0] for group in placed.mp_groups(here)]
        assert [one[1:] for one in found] == list(placed.mp_groups(there))


@pytest.mark.parametrize("policy", ["snake", "column_snake"])
def test_snakes_only_step_to_neighbours(policy: str) -> None:
    placed = place(MESH, Strategy(1, 1, MESH.npus), policy)
    for here, there in zip(placed.npus, placed.npus[1:], strict=False):
        across = abs(here % COLUMNS - there % COLUMNS), abs(here // COLUMNS - there // COLUMNS)
        assert sorted(across) == [0, 1]
