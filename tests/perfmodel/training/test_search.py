"""Tests of perfmodel.training.search."""

from dataclasses import replace

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.topology.parse import FABRICS, shared_topology
from perfmodel.training import search
from perfmodel.training.operations import Operations
from perfmodel.training.placement.place import Placement, place
from perfmodel.training.placement.policy import POLICIES, fitting
from perfmodel.training.request import Request
from perfmodel.training.search import (
    ALIKE,
    anneal,
    busiest_link_s,
    communication_s,
    default_placement,
)
from perfmodel.workloads.workload import load_workload

GPT = Strategy(2, 5, 2)
MESH = shared_topology("mesh:5x4")
SMALL = shared_topology("mesh:4x2")


def cost(placed: Placement, workload: str = "gpt-3") -> float:
    topology = SMALL if max(placed.npus) < SMALL.npus else MESH
    return communication_s(Operations(topology, placed), load_workload(workload))


@pytest.mark.parametrize("strategy", [GPT, Strategy(4, 5, 1), Strategy(3, 3, 2)], ids=str)
def test_auto_is_the_best_of_the_policies(strategy: Strategy) -> None:
    job = load_workload("gpt-3")
    auto = communication_s(
        Operations(MESH, default_placement(Request.of(MESH, job, strategy))), job
    )
    for policy in fitting(MESH, auto=True):
        placed = default_placement(Request.of(MESH, job, strategy, placement=policy))
        assert placed.policy == policy
        assert auto <= communication_s(Operations(MESH, placed), job) * (1 + ALIKE)


def test_of_walks_alike_auto_takes_the_one_with_the_least_busy_link() -> None:
    job, strategy = load_workload("transformer-1t"), Strategy(5, 1, 4)
    walks = [Operations(MESH, place(MESH, strategy, name)) for name in fitting(MESH, auto=True)]
    times_s = [communication_s(one, job) for one in walks]
    alike = [one for one, s in zip(walks, times_s, strict=True) if s <= min(times_s) * (1 + ALIKE)]
    busy_s = {one.placement.policy: busiest_link_s(one, job) for one in alike}
    assert len(set(busy_s.values())) > 1
    assert default_placement(Request.of(MESH, job, strategy)).policy == min(
        busy_s, key=busy_s.__getitem__
    )


def test_pipelines_cost_the_slowest_send_to_a_next_stage() -> None:
    # From NPU 0 to 1 over one link, from there to 5 over four; from 0 to 5 would be five.
    line, job = shared_topology("mesh:6x1"), load_workload("transformer-17b")
    operations = Operations(line, Placement(Strategy(1, 1, 3), (0, 1, 5), "by hand"))
    numbers = job.network.layers[40].output_numbers * 2  # 16 samples in 8 microbatches
    sends = [operations.pp_multicast(stage, stage + 1, numbers) for stage in (0, 1)]
    assert sends[0] and sends[1] and sends[0].time_s < sends[1].time_s
    expected_s = 2 * 8 * sends[1].time_s
    assert communication_s(operations, job) == pytest.approx(expected_s, rel=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("workload", ["gpt-3", "transformer-17b"])
def test_annealing_is_never_worse_than_auto(workload: str, seed: int) -> None:
    job = load_workload(workload)
    start = default_placement(Request.of(SMALL, job, Strategy(2, 2, 2)))
    found = anneal(Request.of(SMALL, job), start, steps=30, seed=seed)
    assert cost(found, workload) <= cost(start, workload)


def test_annealing_depends_on_its_seed_only() -> None:
    job = load_workload("gpt-3")
    start = Placement(Strategy(2, 2, 1), (0, 7, 3, 4), "by hand")
    found = [anneal(Request.of(SMALL, job), start, steps=40, seed=seed) for seed in (5, 5, 6, 7, 8)]
    assert found[0] == found[1]
    assert len({one.npus for one in found}) > 1


def test_annealing_keeps_workers_apart_and_may_use_free_npus() -> None:
    job = load_workload("transformer-17b")
    strategy = Strategy(2, 1, 1)
    apart = Placement(strategy, (0, 7), "by hand")
    found = anneal(Request.of(SMALL, job), apart, steps=100)
    assert len(set(found.npus)) == 2 and set(found.npus) <= set(range(SMALL.npus))
    assert (found.policy, found.strategy) == ("anneal", strategy)
    assert cost(found, "transformer-17b") < cost(apart, "transformer-17b")


def test_annealing_that_finds_nothing_returns_its_start() -> None:
    # A single worker neither sends nor receives, wherever it is.
    start = place(SMALL, Strategy(1, 1, 1))
    job = load_workload("resnet-152")
    assert cost(start, "resnet-152") == 0.0
    assert anneal(Request.of(SMALL, job), start, steps=20) is start


@pytest.mark.parametrize(("annealed_s", "policy"), [(0.9, "anneal"), (1.0, "auto"), (1.1, "auto")])
def test_judge_has_the_last_word_on_what_annealing_finds(
    monkeypatch: pytest.MonkeyPatch, annealed_s: float, policy: str
) -> None:
    strategy, job = Strategy(2, 2, 2), load_workload("gpt-3")
    best = default_placement(Request.of(SMALL, job, strategy))
    monkeypatch.setattr(search, "anneal", lambda *_, **_more: replace(best, policy="anneal"))

    def judge(placed: Placement) -> float:
        return annealed_s if placed.policy == "anneal" else 1.0

    found = default_placement(Request.of(SMALL, job, strategy, placement="anneal"), judge)
    assert found.policy == (policy if policy == "anneal" else best.policy)
    assert (
        default_placement(Request.of(SMALL, job, strategy, placement="anneal")).policy == "anneal"
    )


@pytest.mark.parametrize("policy", ["auto", "anneal"])
@pytest.mark.parametrize("fabric", [name for name in FABRICS if name.startswith("fred")])
def test_fred_keeps_the_placement_of_the_paper(fabric: str, policy: str) -> None:
    placed = default_placement(
        Request.of(shared_topology(fabric), load_workload("gpt-3"), GPT, placement=policy)
    )
    assert (placed.npus, placed.policy) == (tuple(range(20)), "linear")


@pytest.mark.parametrize("policy", ["auto", "anneal", *POLICIES])
def test_strategy_that_does_not_fit_is_refused_by_every_policy(policy: str) -> None:
    message = r"^strategy: must fit the 8 NPUs of mesh:4x2, not need 9 as MP1-DP9-PP1$"
    with pytest.raises(InputError, match=message):
        default_placement(
            Request.of(SMALL, load_workload("gpt-3"), Strategy(1, 9, 1), placement=policy)
        )
