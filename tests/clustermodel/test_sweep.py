"""Tests of clustermodel.sweep."""

from dataclasses import replace

import pytest

from clustermodel.file import load_cluster
from clustermodel.footprint import Training
from clustermodel.model import load_transformer
from clustermodel.sweep import best, design_space, strategies, sweep
from clustermodel.tiers import MemoryTier
from docs.generate.reference import EXAMPLES

FILE = load_cluster(EXAMPLES / "cluster.yaml")
ONE_T = load_transformer("transformer-1t")
POINTS = sweep(ONE_T, FILE.cluster, FILE.training.plan)


def test_every_strategy_takes_all_npus() -> None:
    found = list(strategies(1024, Training(batch=256), ONE_T, [1, 2, 3, 256]))
    assert len({*found}) == len(found) == 9 + 9
    assert all(one.workers == 1024 and one.dp <= 256 for one in found)


def test_a_million_npus_have_their_strategies_at_once() -> None:
    """Only divisors are tried: 2**20 has 21 of them, whatever the number of stages."""
    training = Training(batch=1 << 30)
    stages = [2**n for n in range(7)]
    found = list(strategies(1 << 20, training, ONE_T, stages))
    assert len(found) == sum(21 - n for n in range(7))
    assert [one.mp for one in found[:21]] == [2**n for n in range(21)]


def test_groups_divide_replicas_and_experts() -> None:
    model = load_transformer("mixtral-8x7b")
    found = [str(one) for one in strategies(8, Training(batch=8), model, [1], [1, 3, 4, 16])]
    assert found == [
        *("MP1-DP8-PP1", "MP1-DP8-PP1-EP4", "MP2-DP4-PP1", "MP2-DP4-PP1-EP4"),
        *("MP4-DP2-PP1", "MP8-DP1-PP1"),
    ]
    one_t = [one.ep for one in strategies(8, Training(batch=8), ONE_T, [1], [1, 2])]
    assert set(one_t) == {1}


def test_stages_that_do_not_divide_the_npus_do_not_end_the_search() -> None:
    training = Training(batch=256)
    found = list(strategies(1024, training, ONE_T, [3, 2, 256, 1]))
    assert [one.pp for one in found] == 9 * [2] + 9 * [1]
    assert {*found} == {*strategies(1024, training, ONE_T, [1, 2])}


def test_pieces_need_a_layer_each() -> None:
    training = Training(batch=1024, interleave=3)
    assert {one.pp for one in strategies(1024, training, ONE_T, [1, 32, 64])} == {1, 32}


def test_eighty_gigabytes_hold_transformer_1t_from_mp_64_on() -> None:
    assert next(one.strategy for one in POINTS if one.fits) == "MP64-DP16-PP1"
    fastest = best(POINTS)
    assert fastest.feasible and fastest.feasible.strategy == "MP64-DP16-PP1"
    # Memory decides: without its limit another is best, and by more than a half.
    free = fastest.unconstrained
    assert free.strategy != "MP64-DP16-PP1" and not free.fits
    assert fastest.feasible.time_s and fastest.feasible.time_s > 2 * free.unconstrained.total_s


def test_what_fits_the_local_memory_is_as_fast_as_if_all_did() -> None:
    for one in POINTS:
        assert one.fits == (one.footprint.total_bytes <= 80e9) == (one.expanded_share == 0)
        assert one.times == (one.unconstrained if one.fits else None)


def test_more_memory_changes_the_best_point_and_its_bandwidth_never_slows() -> None:
    found = design_space(ONE_T, FILE, best(POINTS))
    assert len(found) == 8
    times = {
        tuple(one.values.values()): one.best.feasible.time_s for one in found if one.best.feasible
    }
    assert len(times) == 8
    assert all(one.speedup and one.speedup > 1 for one in found)
    assert {one.best.feasible.strategy for one in found if one.best.feasible} == {
        "MP8-DP128-PP1", "MP16-DP64-PP1",
    }  # fmt: skip
    for (compute, size, rate), time_s in times.items():
        assert time_s is not None
        assert rate == 2e12 or time_s > (times[compute, size, 2e12] or 0)
        assert size == 400e9 or time_s > (times[compute, 400e9, rate] or 0)
        assert compute == 2 or time_s > (times[2, size, rate] or 0)


def test_a_cluster_that_holds_nothing_has_no_feasible_strategy() -> None:
    tiny = replace(FILE.cluster, local=MemoryTier(1e9, 1e12))
    fastest = best(sweep(ONE_T, tiny, FILE.training.plan))
    assert fastest.feasible is None
    nothing = design_space(ONE_T, FILE, fastest)
    assert [one.speedup for one in nothing] == [None] * 8


def test_no_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^must allow a strategy on all 1024 NPUs, .*, not 1$"):
        sweep(ONE_T, FILE.cluster, Training(batch=1), [3])
