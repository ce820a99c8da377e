"""Tests of clustermodel.footprint: the table of Transformer-1T, and formulas by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustermodel.footprint import RECOMPUTE, ZERO_STAGES, Training, footprint, state_bytes
from clustermodel.model import load_transformer
from fred_hw.compiler.placement import Strategy

ONE_T = load_transformer("transformer-1t")

STATES_GB = {  # (MP, DP): stages 0 to 3, worked out apart from 1.008e12 parameters
    (1, 1024): (16128.6, 4044.0, 2029.9, 15.8),
    (2, 512): (8064.3, 2027.9, 1021.8, 15.8),
    (4, 256): (4032.2, 1019.9, 517.8, 15.8),
    (8, 128): (2016.1, 515.8, 265.8, 15.8),
    (64, 16): (252.0, 74.8, 45.3, 15.8),
    (256, 4): (63.0, 27.6, 21.7, 15.8),
    (512, 2): (31.5, 19.7, 17.7, 15.8),
    (1024, 1): (15.8, 15.8, 15.8, 15.8),
}


@pytest.mark.parametrize(
    ("batch", "microbatch", "dp", "samples", "microbatches"),
    [
        (8, None, 2, 4, 1),
        (8, 1, 2, 1, 4),
        (8, 8, 2, 4, 1),  # no more than a replica has
        (10, None, 4, 2.5, 1),
        (10, 2, 4, 2, 1.25),  # the last one is not full
    ],
)
def test_samples_of_a_replica_pass_in_microbatches(
    batch: int, microbatch: int | None, dp: int, samples: float, microbatches: float
) -> None:
    training = Training(batch=batch, microbatch=microbatch)
    assert (training.samples(dp), training.microbatches(dp)) == (samples, microbatches)


@pytest.mark.parametrize("zero", ZERO_STAGES)
@pytest.mark.parametrize(("mp", "dp"), STATES_GB)
def test_model_states_of_transformer_1t(mp: int, dp: int, zero: int) -> None:
    training = Training(batch=1024, zero=zero)
    states = footprint(ONE_T, Strategy(mp, dp, 1), training).states_bytes
    assert round(states / 1e9, 1) == STATES_GB[mp, dp][zero]


@given(st.integers(1, 1 << 20), st.integers(1, 1024))
def test_stages_share_out_more_and_more(parameters: int, dp: int) -> None:
    sizes = [state_bytes(parameters, dp, zero) for zero in ZERO_STAGES]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 16 * parameters and sizes[3] == pytest.approx(16 * parameters / dp)
    assert state_bytes(parameters, dp, 0, 4) == 18 * parameters


@given(st.sampled_from([2**n for n in range(10)]))
def test_states_of_stage_two_fall_with_mp(mp: int) -> None:
    def states(mp: int) -> float:
        return footprint(ONE_T, Strategy(mp, 1024 // mp, 1), Training(batch=1024)).states_bytes

    assert states(2 * mp) < states(mp)


@given(st.integers(1, 8), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4]))
def test_recomputation_keeps_less(microbatch: int, mp: int, pp: int) -> None:
    training = Training(batch=64, microbatch=microbatch)
    kept = [
        footprint(ONE_T, Strategy(mp, 2, pp), replace(training, recompute=one)).activations_bytes
        for one in RECOMPUTE
    ]
    assert kept[0] > kept[1] > kept[2]


def test_whole_layers_recomputed_keep_their_inputs_and_one_working_set() -> None:
    training = Training(batch=16, recompute="full")
    kept = footprint(ONE_T, Strategy(8, 4, 1), training).activations_bytes
    s, b, h, layers = 2048, 4, 25600, 128
    working = s * b * h * (10 + 24 / 8 + 5 * 160 * s / (h * 8))
    assert kept == pytest.approx(2 * s * b * h * layers + working)


@pytest.mark.parametrize(("samples", "held"), [(64, 8), (3, 3)])
def test_pipeline_keeps_a_microbatch_for_each_stage_or_all(samples: int, held: int) -> None:
    training = Training(batch=samples, microbatch=1, recompute="selective")
    kept = footprint(ONE_T, Strategy(8, 1, 8), training).activations_bytes
    assert kept == pytest.approx(held * 128 / 8 * 2048 * 25600 * (10 + 24 / 8))


def test_pieces_of_a_pipeline_keep_more() -> None:
    training = Training(batch=64, microbatch=1)
    whole = footprint(ONE_T, Strategy(8, 1, 8), training).activations_bytes
    pieces = footprint(ONE_T, Strategy(8, 1, 8), replace(training, interleave=2))
    assert pieces.activations_bytes == pytest.approx(whole * (1 + 7 / 16))
    assert pieces.total_bytes == pieces.activations_bytes + pieces.states_bytes


MIXTRAL = load_transformer("mixtral-8x7b")


@pytest.mark.parametrize(
    ("zero", "dense", "experts"),
    [(0, 16, 16), (1, 4 + 12 / 16, 4 + 12 / 4), (2, 2 + 14 / 16, 2 + 14 / 4), (3, 1, 4)],
)
def test_experts_are_shared_out_by_their_group_and_zero_by_their_replicas(
    zero: int, dense: float, experts: float
) -> None:
    own = MIXTRAL.expert_parameters
    states = footprint(MIXTRAL, Strategy(2, 16, 1, ep=4), Training(batch=16, zero=zero))
    want = (MIXTRAL.parameters - own) / 2 * dense + own / 2 / 4 * experts
    assert states.states_bytes == pytest.approx(want)


def test_larger_groups_keep_less_until_zero_shares_all_out() -> None:
    def states(ep: int, zero: int) -> float:
        plan = Training(batch=8, zero=zero)
        return footprint(MIXTRAL, Strategy(1, 8, 1, ep=ep), plan).states_bytes

    kept = [states(ep, 2) for ep in (1, 2, 4, 8)]
    assert kept == sorted(kept, reverse=True) and kept[0] > 1.8 * kept[-1]
    assert states(8, 3) == pytest.approx(states(1, 3)) == 16 * MIXTRAL.parameters / 8
