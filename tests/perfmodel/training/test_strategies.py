"""Tests of perfmodel.training.strategies."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.published import SWEEPS
from perfmodel.topology.parse import shared_topology
from perfmodel.training import strategies
from perfmodel.training.request import Request
from perfmodel.training.strategies import (
    MAX_ROWS,
    StrategyRow,
    fastest,
    feasible,
    microbatch_rule,
    sweep,
)
from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import Workload, load_workload, with_batch


def swept(
    job: Workload, choices: Sequence[Strategy], samples: int, *names: str, **options: Any
) -> tuple[StrategyRow, ...]:
    batch = with_batch(job, samples, 1)
    return sweep([Request.of(shared_topology(n), batch, **options) for n in names], choices)


def test_all_strategies_of_twenty_npus() -> None:
    found = feasible(load_workload("transformer-17b"), 20, 20)
    assert len(found) == len(set(found)) == 18
    assert all(one.workers == 20 for one in found)


def test_default_takes_nine_tenths_of_the_wafer() -> None:
    found = {one.workers for one in feasible(load_workload("transformer-17b"), 20)}
    assert found == {18, 19, 20}


def test_layers_that_do_not_split_leave_mp_out() -> None:
    assert {one.mp for one in feasible(load_workload("resnet-152"), 20, 20)} == {1}


@pytest.mark.parametrize("least", [0, 21])
def test_impossible_number_of_npus_is_refused(least: int) -> None:
    with pytest.raises(InputError, match=rf"^least_npus: must be 1 to 20, not {least}$"):
        feasible(load_workload("gpt-3"), 20, least)


@pytest.mark.parametrize("name", SWEEPS)
def test_microbatches_of_published_sweeps(name: str) -> None:
    rule = microbatch_rule(load_workload(name), 40)
    assert {key: rule[key] for key in SWEEPS[name].microbatches} == SWEEPS[name].microbatches


def test_microbatches_of_other_workloads_fill_the_pipeline() -> None:
    rule = microbatch_rule(load_workload("gpt-3"), 24)
    assert [rule[stages] for stages in (1, 2, 3, 5, 20)] == [1, 4, 6, 12, 24]


@pytest.mark.slow
def test_rows_are_sorted_and_what_does_not_fit_comes_last() -> None:
    small = transformer(20, 4256, 28, 1024, 50257)
    job = replace(load_workload("transformer-17b"), network=small)
    rows = swept(job, feasible(job, 20, 20), 40, "mesh:5x4", "fred-d")
    assert len(rows) == 2 * 18
    keys = [(not row.feasible, not row.fits, row.estimate.time_per_sample_s) for row in rows]
    assert keys == sorted(keys)


def test_activations_that_do_not_fit_come_behind_those_that_do() -> None:
    job = load_workload("transformer-17b")
    choices = [Strategy(1, 20, 1), Strategy(20, 1, 1), Strategy(2, 10, 1), Strategy(10, 2, 1)]
    rows = swept(job, choices, 40, "fred-d")
    assert [(row.estimate.strategy, row.fits, row.estimate.memory_verdict) for row in rows] == [
        ("MP20-DP1-PP1", True, "fits"),
        ("MP2-DP10-PP1", True, "fits if recomputed"),
        ("MP10-DP2-PP1", True, "fits if recomputed"),
        ("MP1-DP20-PP1", False, "activations do not fit"),
    ]
    assert all(row.feasible for row in rows)
    assert rows[-1].estimate.time_per_sample_s < rows[1].estimate.time_per_sample_s


def test_weights_that_do_not_fit_are_marked() -> None:
    large = transformer(64, 8192, 64, 2048, 50257)  # 52 G parameters
    job = replace(load_workload("transformer-17b"), name="large", network=large)
    choices = [one for one in feasible(job, 20, 20) if 20 in (one.mp, one.dp)]
    rows = swept(job, choices, 40, "fred-d")
    assert [(row.estimate.strategy, row.feasible) for row in rows] == [
        ("MP20-DP1-PP1", True),
        ("MP1-DP20-PP1", False),
    ]
    assert rows[-1].estimate.memory_verdict == "weights do not fit"


@given(st.sampled_from(["resnet-152", "transformer-17b", "transformer-1t"]), st.integers(1, 200))
def test_microbatches_divide_the_samples_and_fill_the_pipeline_if_they_can(
    name: str, samples: int
) -> None:
    job = load_workload(name)
    rule = microbatch_rule(job, samples)
    assert set(rule) >= set(range(1, len(job.network.layers) + 1))
    assert rule[1] == 1
    for stages, found in rule.items():
        assert samples % found == 0
        published = name in SWEEPS and samples == SWEEPS[name].samples_per_replica
        if stages > 1 and not published:
            assert found == samples or found >= 2 * stages


@pytest.mark.parametrize("name", SWEEPS)
def test_other_samples_do_not_take_the_published_microbatches(name: str) -> None:
    rule = microbatch_rule(load_workload(name), 80)
    assert [rule[stages] for stages in (1, 2, 4, 5, 10, 20)] == [1, 4, 8, 10, 20, 40]


def test_feasible_goes_with_the_layers() -> None:
    small = replace(load_workload("resnet-152"), network=transformer(1, 8, 2, 4, 10))
    assert {one.pp for one in feasible(small, 20, 1)} == {1, 2, 3}


def test_every_strategy_meets_every_fabric() -> None:
    fabrics = ("mesh:5x4", "fred-a", "fred-d")
    job = load_workload("resnet-152")
    choices = feasible(job, 20, 20)
    rows = swept(job, choices, 16, *fabrics)
    assert {(row.estimate.topology, row.estimate.strategy) for row in rows} == {
        (fabric, str(one)) for fabric in fabrics for one in choices
    }
    assert len(rows) == len(fabrics) * len(choices)
    for row in rows:
        dp = Strategy.parse(row.estimate.strategy).dp
        assert row.estimate.minibatch == 16 * dp
        assert row.estimate.time_per_sample_s == row.estimate.iteration_time_s / (16 * dp)


def test_what_does_not_fit_comes_last_though_it_is_fastest() -> None:
    # With all compute and communication alike, less memory is what the strategies differ in.
    large = transformer(64, 8192, 64, 2048, 50257)
    job = replace(load_workload("transformer-17b"), name="large", network=large)
    choices = [Strategy(1, 20, 1), Strategy(20, 1, 1), Strategy(4, 5, 1), Strategy(10, 2, 1)]
    rows = swept(job, choices, 40, "fred-d")
    verdicts = [row.feasible for row in rows]
    assert verdicts == sorted(verdicts, reverse=True) and not all(verdicts)
    for row in rows:
        memory = row.estimate.memory
        assert row.feasible == (memory.state_bytes <= memory.available_bytes)
    assert rows[-1].estimate.time_per_sample_s < rows[1].estimate.time_per_sample_s


def test_sweep_refuses_what_it_cannot_run() -> None:
    job = load_workload("transformer-17b")
    with pytest.raises(InputError, match=r"^compute: must be one of .*, not 'guessed'$"):
        swept(job, [job.strategy], 40, "fred-d", compute="guessed")
    with pytest.raises(InputError, match=r"^least_npus: must leave a strategy that goes with tran"):
        swept(job, [], 40, "fred-d")
    with pytest.raises(InputError, match=r"^strategy: must fit the 20 NPUs of fred-d, not need 21"):
        swept(job, [Strategy(3, 7, 1)], 40, "fred-d")
    with pytest.raises(InputError, match=r"^strategy: must have MP1, as the layers of resnet-152"):
        swept(load_workload("resnet-152"), [Strategy(2, 10, 1)], 40, "fred-d")


def test_more_estimates_than_anyone_waits_for_are_refused() -> None:
    choices = [Strategy(1, 1, 1)] * (MAX_ROWS + 1)
    message = r"^least_npus: must leave at most 10,000 estimates of strategies, not 10,001$"
    with pytest.raises(InputError, match=message):
        swept(load_workload("resnet-152"), choices, 40, "mesh:2x2")


def test_sweep_refuses_more_stages_than_layers() -> None:
    with pytest.raises(InputError, match=r"^strategy: must have at most 52 pipeline stages"):
        swept(load_workload("resnet-152"), [Strategy(1, 1, 53)], 40, "mesh:8x8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "count", "most"),
    [
        ("transformer-17b", 1, 20),
        ("gpt-3", 4, 30),
        ("resnet-152", 2, 6),
        ("transformer-1t", 40, 50),
    ],
)
def test_fastest_are_the_first_of_all(
    workload: str, count: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [
        Request.of(shared_topology(name), load_workload(workload), placement="linear")
        for name in ("mesh:5x4", "fred-d")
    ]
    choices = feasible(requests[0].workload, 20, 18)
    every = [row for row in sweep(requests, choices) if row.fits]
    simulated: list[Request] = []

    def simulate(one: Request, **options: Any) -> Any:
        simulated.append(one)
        return strategies_simulate(one, **options)

    strategies_simulate = strategies.simulate
    monkeypatch.setattr(strategies, "simulate", simulate)
    found = fastest(requests, choices, count)
    for name in ("mesh:5x4", "fred-d"):
        mine, all_of_them = (
            [row.estimate for row in rows if row.estimate.topology == name]
            for rows in (found, every)
        )
        assert mine == all_of_them[:count]
    assert len(simulated) <= most < len(requests) * len(choices)


def test_fastest_refuses_what_leaves_no_row() -> None:
    job = load_workload("transformer-17b")
    request = Request.of(shared_topology("fred-d"), job)
    choices = feasible(job, 20, 20)
    with pytest.raises(InputError, match=r"^best: must be 1 or more, not 0$"):
        fastest([request], choices, 0)
    small = replace(request, npu=replace(request.npu, hbm_bytes=1e6))
    message = r"^best: must not be given: no strategy fits in memory on fred-d$"
    with pytest.raises(InputError, match=message):
        fastest([small], choices, 1)
