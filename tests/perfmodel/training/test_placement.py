"""Tests of perfmodel.training.placement and search."""

import re

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.topology.parse import parse_topology
from perfmodel.training.operations import Operations
from perfmodel.training.placement import POLICIES, place
from perfmodel.training.search import anneal, communication_s, default_placement
from perfmodel.workload import load_workload

GPT = Strategy(2, 5, 2)


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


@pytest.mark.parametrize("policy", POLICIES)
def test_every_walk_covers_meshes_of_odd_sides(policy: str) -> None:
    placed = place(parse_topology("mesh:3x5"), Strategy(1, 15, 1), policy)
    assert sorted(placed.npus) == list(range(15))


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
        ("fred-d", GPT, "snake", "placement: must be linear for fred-d, not 'snake'"),
    ],
)
def test_impossible_placement_is_refused(
    topology: str, strategy: Strategy, policy: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        place(parse_topology(topology), strategy, policy)


def cost(policy: str, workload: str, strategy: Strategy) -> float:
    mesh, job = parse_topology("mesh:5x4"), load_workload(workload)
    return communication_s(Operations(mesh, default_placement(mesh, job, strategy, policy)), job)


@pytest.mark.parametrize("strategy", [GPT, Strategy(4, 5, 1), Strategy(3, 3, 2)])
def test_auto_is_the_best_policy_and_annealing_no_worse(strategy: Strategy) -> None:
    auto = cost("auto", "gpt-3", strategy)
    assert auto == min(cost(policy, "gpt-3", strategy) for policy in POLICIES)
    mesh, job = parse_topology("mesh:5x4"), load_workload("gpt-3")
    start = place(mesh, strategy, "linear")
    found = anneal(mesh, job, start, steps=60, seed=1)
    assert len(set(found.npus)) == strategy.workers
    here = communication_s(Operations(mesh, start), job)
    assert communication_s(Operations(mesh, found), job) <= here
    assert anneal(mesh, job, start, steps=60, seed=1) == found


def test_annealing_finds_neighbours_for_scattered_pairs() -> None:
    mesh, job = parse_topology("mesh:4x4"), load_workload("transformer-17b")
    strategy = Strategy(2, 1, 1)
    start = place(mesh, strategy, "linear")
    apart = type(start)(strategy, (0, 15), "linear")
    slow, quick = (
        communication_s(Operations(mesh, one), job)
        for one in (apart, anneal(mesh, job, apart, steps=200))
    )
    assert quick <= slow


def test_fred_keeps_the_placement_of_the_paper() -> None:
    fred, job = parse_topology("fred-d"), load_workload("gpt-3")
    assert default_placement(fred, job, GPT, "auto").npus == tuple(range(20))
