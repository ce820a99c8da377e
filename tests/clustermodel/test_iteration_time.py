"""Tests of clustermodel.iteration_time."""

from dataclasses import replace

import pytest

from clustermodel.footprint import Training
from clustermodel.hardware import Npu
from clustermodel.iteration_time import Times, times
from clustermodel.model import Transformer
from clustermodel.network import Level
from fred_hw.compiler.placement import Strategy

SMALL = Transformer(
    layers=4, hidden=64, sequence=32, heads=4, vocabulary=128, feed_forward=256, keys=64,
    gated=False, parameters=200_000,
)  # fmt: skip
FAST = 1e30
LEVELS = (Level(2, 1e9, 0.0), Level(8, 1e8, 0.0))
TRAINING = Training(batch=16, zero=0, overlap=False)


def run(
    strategy: str,
    model: Transformer = SMALL,
    *,
    flops: float = 1e12,
    memory: float = FAST,
    **changes: object,
) -> Times:
    npu = Npu(flops, 0.5, 1.0, 1e9)
    plan = replace(TRAINING, **changes)  # pyright: ignore[reportArgumentType]
    return times(model, Strategy.parse(strategy), plan, npu, LEVELS, memory)


def test_compute_is_the_operations_where_memory_is_free() -> None:
    found = run("MP1-DP16-PP1")
    layer = 24 * 32 * 64**2 + 4 * 32**2 * 64
    logits = 2 * 32 * 64 * 128
    assert found.forward_s == pytest.approx((4 * layer + logits) / 0.5e12)
    assert found.backward_s == pytest.approx(2 * found.forward_s)
    assert found.recompute_s == found.bubble_s == found.mp_s == found.pp_s == 0
    assert run("MP1-DP16-PP1", recompute="full").recompute_s == pytest.approx(4 * layer / 0.5e12)
    scores = 4 * 32**2 * 64
    selective = run("MP1-DP16-PP1", recompute="selective")
    assert selective.recompute_s == pytest.approx(4 * scores / 0.5e12)


def test_compute_is_the_traffic_where_operations_are_free() -> None:
    found = run("MP1-DP16-PP1", flops=FAST, memory=1e9)
    products = [(32, 64, 192), (32, 64, 64), (32, 64, 256), (32, 256, 64)]
    moved = sum(2 * (m * k + k * n + m * n) for m, k, n in products)
    moved += 2 * 4 * 2 * (32 * 16 * 2 + 32 * 32)  # scores, then values, of four heads
    moved += 32 * (64 * (8 + 14) + 2 * 512) + 9 * 4 * 32**2
    logits = 2 * (32 * 64 + 64 * 128 + 32 * 128)
    assert found.forward_s == pytest.approx((4 * moved + logits) / 1e9)
    assert found.optimizer_s == pytest.approx(200_000 * 28 / 1e9)


def test_optimizer_is_shared_out_where_zero_shares_it() -> None:
    alone, shared = (run("MP1-DP16-PP1", flops=FAST, memory=1e9, zero=zero) for zero in (0, 1))
    assert shared.optimizer_s == pytest.approx(alone.optimizer_s / 16)


@pytest.mark.parametrize(("recompute", "reductions"), [("none", 4), ("full", 6)])
def test_activations_are_reduced_along_mp(recompute: str, reductions: int) -> None:
    # 8 samples of 2 x 32 x 64 bytes in each of 4 layers; half of that and back, at 1 GB/s.
    found = run("MP2-DP8-PP1", batch=64, recompute=recompute)
    assert found.mp_s == pytest.approx(4 * reductions * 8 * 4096 / 1e9)


def test_gradients_are_reduced_along_dp() -> None:
    # Nodes are of one group of MP: 2 x 7/8 of half of the gradients, at 0.1 GB/s.
    once = 2 * 7 / 8 * 200_000 / 1e8
    assert run("MP2-DP8-PP1").dp_s == pytest.approx(once)
    assert run("MP2-DP8-PP1", zero=3).dp_s == pytest.approx(1.5 * once)
    assert run("MP2-DP8-PP1", flops=1e3, overlap=True).dp_s == 0
    part = run("MP2-DP8-PP1", flops=1e11, overlap=True)
    assert 0 < part.dp_s < once


MIXTURE = replace(
    SMALL, parameters=1_000_000, experts=8, experts_per_token=2, expert_parameters=800_000
)


@pytest.mark.parametrize(("recompute", "exchanges"), [("none", 4), ("full", 6)])
def test_tokens_go_to_experts_and_back(recompute: str, exchanges: int) -> None:
    # 2 x 2 samples of 2 x 32 x 64 bytes; a quarter to the one beside, two to two others outside.
    found = run("MP1-DP16-PP1-EP4", MIXTURE, batch=32, recompute=recompute)
    quarter = 2 * 2 * 4096 / 4
    once = quarter / 1e9 + 2 * quarter / 1e8
    assert found.ep_s == pytest.approx(4 * exchanges * once)
    assert run("MP1-DP16-PP1", MIXTURE, batch=32).ep_s == 0
    assert found.mp_s == 0 and found.total_s > found.ep_s


def test_gradients_of_experts_are_reduced_by_their_replicas() -> None:
    # 200,000 others by all 16: 2 x 1/2 inside, 2 x 7/8 of half outside; a quarter of the experts
    # by 4, each in another block.
    dense = 2 * 200_000 * (1 / 1e9 + 7 / 8 / 1e8)
    experts = 2 * 3 / 4 * 2 * 200_000 / 1e8
    assert run("MP1-DP16-PP1-EP4", MIXTURE).dp_s == pytest.approx(dense + experts)


def test_experts_take_the_operations_of_those_that_a_token_goes_to() -> None:
    layer = 8 * 32 * 64**2 + 2 * 16 * 32 * 64**2 + 4 * 32**2 * 64 + 2 * 32 * 64 * 8
    logits = 2 * 32 * 64 * 128
    for strategy in ("MP1-DP16-PP1", "MP1-DP16-PP1-EP8"):
        assert run(strategy, MIXTURE).forward_s == pytest.approx((4 * layer + logits) / 0.5e12)


def test_a_pipeline_waits_for_all_to_alls_too() -> None:
    found = run("MP1-DP4-PP4-EP4", MIXTURE, microbatch=1)
    layer_s = (found.forward_s + found.backward_s) / 4  # of 4 microbatches, without the logits
    assert found.bubble_s > 3 * found.ep_s / 4
    assert found.bubble_s < 3 * (layer_s + found.ep_s / 4)


def test_pipeline_waits_to_fill_and_drain() -> None:
    found = run("MP1-DP2-PP4", microbatch=1, batch=16)
    layer_s = 3 * (24 * 32 * 64**2 + 4 * 32**2 * 64) / 0.5e12
    assert found.bubble_s == pytest.approx(3 * layer_s)
    assert run("MP1-DP2-PP4", microbatch=1, interleave=3).bubble_s == pytest.approx(layer_s)
    # A message of 4096 bytes each way for each of 8 microbatches, between nodes.
    assert found.pp_s == pytest.approx(2 * 8 * 4096 / 1e8)


def test_parts_add_up() -> None:
    found = run("MP2-DP2-PP4", microbatch=1, recompute="full", memory=1e10)
    parts = (found.forward_s, found.recompute_s, found.backward_s, found.optimizer_s)
    shown = (found.mp_s, found.pp_s, found.dp_s, found.bubble_s)
    assert min(*parts, *shown) > 0
    assert found.total_s == pytest.approx(sum(parts) + sum(shown))


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
def test_more_memory_bandwidth_never_slows(recompute: str) -> None:
    rates = [10.0**power for power in range(6, 14)]
    found = [run("MP2-DP4-PP2", memory=rate, recompute=recompute).total_s for rate in rates]
    assert found == sorted(found, reverse=True) and found[0] > found[-1]
