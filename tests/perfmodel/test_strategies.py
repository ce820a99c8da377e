"""Tests of perfmodel.strategies."""

from dataclasses import replace

import pytest

from fred_hw.errors import InputError
from perfmodel.networks.transformer import transformer
from perfmodel.published import SWEEPS
from perfmodel.strategies import feasible, microbatch_rule, sweep
from perfmodel.topology.parse import parse_topology
from perfmodel.workload import load_workload


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
    with pytest.raises(InputError, match=rf"^least-npus: must be 1 to 20, not {least}$"):
        feasible(load_workload("gpt-3"), 20, least)


@pytest.mark.parametrize("name", SWEEPS)
def test_microbatches_of_published_sweeps(name: str) -> None:
    rule = microbatch_rule(load_workload(name), 40)
    assert {key: rule[key] for key in SWEEPS[name].microbatches} == SWEEPS[name].microbatches


def test_microbatches_of_other_workloads_fill_the_pipeline() -> None:
    rule = microbatch_rule(load_workload("gpt-3"), 24)
    assert [rule[stages] for stages in (1, 2, 3, 5, 20)] == [1, 4, 6, 12, 24]


def test_rows_are_sorted_and_what_does_not_fit_comes_last() -> None:
    fabrics = [parse_topology(name) for name in ("mesh:5x4", "fred-d")]
    job = load_workload("transformer-17b")
    rows = sweep(fabrics, job, feasible(job, 20, 20), 40)
    assert len(rows) == 2 * 18
    keys = [(not row.feasible, row.estimate.time_per_sample_s) for row in rows]
    assert keys == sorted(keys)


def test_weights_that_do_not_fit_are_marked() -> None:
    large = transformer(64, 8192, 64, 2048, 50257)  # 52 G parameters
    job = replace(load_workload("transformer-17b"), name="large", network=large)
    choices = [one for one in feasible(job, 20, 20) if 20 in (one.mp, one.dp)]
    rows = sweep([parse_topology("fred-d")], job, choices, 40)
    assert [(row.estimate.strategy, row.feasible) for row in rows] == [
        ("MP20-DP1-PP1", True),
        ("MP1-DP20-PP1", False),
    ]
    assert rows[-1].estimate.memory_verdict == "weights do not fit"
