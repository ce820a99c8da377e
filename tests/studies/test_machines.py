"""Tests of studies.machines and its section: measurements of A100s and H100s."""

from dataclasses import replace

import pytest

from perfmodel.published_machines import (
    ALL_REDUCE,
    GIB,
    ITERATIONS,
    MIB,
    SIMULATOR_ERRORS,
)
from perfmodel.training.compute import PEAK_FLOPS
from studies.a100 import iteration_rows
from studies.machines import (
    CALLS,
    MODELS,
    Found,
    bus_bandwidth,
    cluster,
    iteration,
    model_flops,
    utilization,
)
from studies.section import measured
from studies.sections.machines import FITTED_ITERATIONS, FITTED_SIZES, errors


def test_eight_iterations_of_a100s_are_off_by_a_mean_and_a_worst() -> None:
    eight = list(iteration_rows())
    mean, worst = errors(eight)
    assert (len(eight), round(mean, 1), round(worst, 1)) == (8, 3.2, 6.2)


def test_calculon_publishes_larger_errors_of_the_same_iterations() -> None:
    calculon = SIMULATOR_ERRORS["calculon"]
    assert calculon.worst is not None
    assert (calculon.figure.value, calculon.worst.value) == (3.65, 8.87)
    mean, worst = errors(list(iteration_rows()))
    assert mean < calculon.figure.value and worst < calculon.worst.value


@pytest.mark.parametrize(("machine", "size"), sorted(FITTED_SIZES))
def test_all_reduces_that_were_fitted_come_out(machine: str, size: int) -> None:
    ours = bus_bandwidth(machine.split("/")[0], "all_reduce", size)
    assert ours == pytest.approx(ALL_REDUCE[machine][size].value, rel=2e-3)


@pytest.mark.parametrize("machine", ALL_REDUCE)
def test_large_all_reduces_are_within_ten_percent(machine: str) -> None:
    for size, figure in ALL_REDUCE[machine].items():
        ratio = bus_bandwidth(machine.split("/")[0], "all_reduce", size) / figure.value
        assert (abs(ratio - 1) <= 0.1) == (size > MIB)


@pytest.mark.parametrize("gpu", CALLS)
def test_bus_bandwidth_never_falls_with_the_size(gpu: str) -> None:
    rates = [bus_bandwidth(gpu, "all_reduce", 2.0**n) for n in range(10, 34, 4)]
    assert rates == sorted(rates)
    # A ring reaches its links; a switch that reduces makes each byte cross them once.
    most = 1.75 if CALLS[gpu].reduces else 1.0
    assert rates[-1] <= most * CALLS[gpu].bytes_per_s


@pytest.mark.parametrize("name", sorted(FITTED_ITERATIONS))
def test_iterations_that_were_fitted_come_out(name: str) -> None:
    run = ITERATIONS[name]
    assert iteration(run).time_s(run.pieces) == pytest.approx(run.time.value, rel=5e-3)


@pytest.mark.parametrize("name", ITERATIONS)
def test_runs_use_all_npus_of_whole_nodes(name: str) -> None:
    run = ITERATIONS[name]
    assert run.model in MODELS and run.npus % 8 == 0
    assert cluster(run.npus).npus == run.npus
    assert run.samples % run.microbatches == 0


def test_pieces_divide_the_bubble_alone() -> None:
    found = Found(10.0, 2.0)
    assert [found.time_s(pieces) for pieces in (1, 2, 4)] == [10.0, 9.0, 8.5]


def test_operations_are_those_of_the_recipe() -> None:
    """The recipe counts 4.74e14 for a sample of Llama 3.1 8B, all pairs of tokens, no norms."""
    run = ITERATIONS["llama-3-8b/8"]
    assert model_flops(run, "full") / 128 == pytest.approx(4.74e14, rel=0.01)
    assert model_flops(run, "half") < model_flops(run, "full")


def test_utilization_is_of_the_peak() -> None:
    assert utilization(2.0, 2 * 8 * PEAK_FLOPS, 8) == 100.0


def test_measured_figures_have_a_tolerance_of_their_own() -> None:
    figure = replace(ITERATIONS["gpt-3/128"].time, printed="10")
    row = measured("a", "a time", figure, 10.9, "made up", readings={"that": 11.2})
    assert (row.rule, row.tolerance, row.ok) == ("measured, 10%", 0.1, True)
    assert [one.ok for one in row.every_reading] == [True, False]
    assert not measured("a", "a time", figure, 10.9, "made up", tolerance=0.05).ok
    rate = measured("a", "a rate", replace(figure, unit=1e9), 10.0, "made up", unit=1e9)
    assert (rate.published, rate.ratio) == (10.0, 1.0)
    assert GIB == 1024 * MIB
