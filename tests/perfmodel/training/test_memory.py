"""Tests of perfmodel.training.memory; bytes worked by hand."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.compiler.placement import Strategy
from perfmodel.constants import HBM_BYTES
from perfmodel.topology.parse import parse_topology
from perfmodel.training.compute import Npu
from perfmodel.training.iteration import simulate_iteration
from perfmodel.training.memory import Memory, memory
from perfmodel.training.placement.place import place
from perfmodel.workloads.layers import Layer, Operator
from perfmodel.workloads.workload import Workload, load_workload


def layer(parameters: int = 1000, output: int = 10, stored: float = 100.0) -> Layer:
    return Layer("layer", (Operator("one", "matmul", 1.0, parameters, 1.0),), output, stored)


def job(
    mode: str = "stationary", schedule: str = "1f1b", microbatches: int = 1, samples: int = 1
) -> Workload:
    return replace(
        load_workload("transformer-17b"),
        mode=mode,
        schedule=schedule,
        microbatches=microbatches,
        samples_per_replica=samples,
    )


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 10**9))
def test_stationary_state_is_the_formula_of_zero_stage_two(
    mp: int, dp: int, parameters: int
) -> None:
    # arXiv 1910.02054, figure 1: 2 Psi + (2 + 12) Psi / Nd, and all of it divided by MP.
    need = memory(job(), Strategy(mp, dp, 1), [[layer(parameters)]], HBM_BYTES)
    assert need.weights_bytes == pytest.approx(2 * parameters / mp)
    assert need.state_bytes == pytest.approx((2 + (2 + 12) / dp) * parameters / mp)


def test_example_of_the_zero_paper() -> None:
    # arXiv 1910.02054, figure 1: 7.5 G parameters on 64 devices take 16.6 GB.
    need = memory(job(), Strategy(1, 64, 1), [[layer(7_500_000_000)]], HBM_BYTES)
    assert need.state_bytes == pytest.approx(16.6e9, rel=0.005)


def test_parts_of_stationary_state_worked_by_hand() -> None:
    need = memory(job(), Strategy(2, 4, 1), [[layer(600), layer(400)]], HBM_BYTES)
    assert need.weights_bytes == 2 * 1000 / 2
    assert need.gradients_bytes == 2 * 1000 / 2 / 4
    assert need.optimizer_bytes == 12 * 1000 / 2 / 4
    assert need.state_bytes == 1000 + 250 + 1500


def test_streaming_keeps_two_of_the_largest_layers_and_no_optimizer() -> None:
    layers = [layer(600), layer(1000), layer(400)]
    need = memory(job("streaming"), Strategy(2, 5, 1), [layers], HBM_BYTES)
    assert need.weights_bytes == need.gradients_bytes == 2 * 2 * 1000 / 2
    assert need.optimizer_bytes == 0.0


def test_activations_worked_by_hand() -> None:
    # Samples of 3 in a microbatch, all 4 of which are held: outputs of 10, stored 100 and 50.
    layers = [layer(), layer(stored=50.0)]
    one = job(schedule="gpipe", microbatches=4, samples=12)
    need = memory(one, Strategy(2, 1, 1), [layers], HBM_BYTES)
    assert need.activations_bytes == 2 * 3 * 4 * 150 / 2
    assert need.recomputed_bytes == 2 * 3 * (4 * 20 + 100) / 2
    assert need.total_bytes == need.state_bytes + need.activations_bytes
    assert need.least_bytes == need.state_bytes + need.recomputed_bytes


@pytest.mark.parametrize(
    ("mode", "schedule", "held"),
    [("stationary", "gpipe", 8), ("stationary", "1f1b", 2), ("streaming", "1f1b", 8)],
)
def test_microbatches_held_depend_on_schedule_and_mode(mode: str, schedule: str, held: int) -> None:
    stages = [[layer()], [layer()]]
    need = memory(job(mode, schedule, 8, 8), Strategy(1, 1, 2), stages, HBM_BYTES)
    assert need.activations_bytes == 2 * held * 100


def test_stage_that_needs_most_is_taken() -> None:
    stages = [[layer(10)], [layer(10**6)], [layer(100)]]
    need = memory(job(), Strategy(1, 1, 3), stages, HBM_BYTES)
    assert need.weights_bytes == 2 * 10**6


@pytest.mark.parametrize(
    ("available", "verdict"),
    [
        (159.0, "fits"),
        (100.0, "fits"),
        (99.0, "fits if recomputed"),
        (70.0, "fits if recomputed"),
        (69.0, "activations do not fit"),
        (60.0, "activations do not fit"),
        (59.0, "weights do not fit"),
    ],
)
def test_verdict_names_what_must_be_given_up(available: float, verdict: str) -> None:
    need = Memory(10.0, 20.0, 30.0, 40.0, 10.0, available)
    assert (need.state_bytes, need.total_bytes, need.least_bytes) == (60.0, 100.0, 70.0)
    assert need.verdict == verdict


@pytest.mark.parametrize(
    ("workload", "mode", "verdict"),
    [
        ("resnet-152", "stationary", "fits"),
        ("transformer-17b", "stationary", "fits"),
        ("gpt-3", "streaming", "fits if recomputed"),
        ("gpt-3", "stationary", "weights do not fit"),
        ("transformer-1t", "streaming", "activations do not fit"),
        ("transformer-1t", "stationary", "weights do not fit"),
    ],
)
def test_verdicts_of_the_published_workloads(workload: str, mode: str, verdict: str) -> None:
    fabric = parse_topology("fred-d")
    one = replace(load_workload(workload), mode=mode)
    placed = place(fabric, one.strategy)
    assert simulate_iteration(fabric, one, placed, Npu()).memory.verdict == verdict


@pytest.mark.parametrize("mode", ["stationary", "streaming"])
@pytest.mark.parametrize("axis", ["mp", "dp"])
def test_more_npus_never_need_more_each(mode: str, axis: str) -> None:
    network = load_workload("transformer-17b").network
    needs = [
        memory(job(mode), replace(Strategy(1, 1, 1), **{axis: n}), [network.layers], HBM_BYTES)
        for n in (1, 2, 4, 5, 10, 20)
    ]
    for more, less in pairwise(needs):
        assert less.total_bytes <= more.total_bytes and less.least_bytes <= more.least_bytes


def test_a_stage_without_parameters_needs_memory_for_activations_alone() -> None:
    strategy = Strategy(1, 2, 1, ep=2)
    found = memory(job(), strategy, [[layer(parameters=0)]], 1e9)
    assert found.state_bytes == 0.0
    assert found.total_bytes == found.activations_bytes > 0.0
