"""Tests of perfmodel.compute."""

import pytest

from fred_hw.compiler.placement import Strategy
from perfmodel.compute import PEAK_FLOPS, Npu, compute_time
from perfmodel.constants import HBM_BYTES_PER_S
from perfmodel.workload import load_workload


def test_roofline_takes_the_slower_of_operations_and_memory() -> None:
    npu = Npu(peak_flops=100.0, hbm_bytes_per_s=10.0, efficiency=0.5)
    assert npu.time_s(flops=100.0, moved_bytes=1.0) == 2.0
    assert npu.time_s(flops=100.0, moved_bytes=50.0) == 5.0


def test_resnet_is_bound_by_operations_worked_by_hand() -> None:
    time = compute_time(load_workload("resnet-152"), Strategy(1, 20, 1))
    # 16 images of 2 x 11.28 G operations forward and twice that backward, at 989.4 TFLOP/s.
    assert time.total_s == pytest.approx(3 * 16 * 2 * 11.28e9 / 989.4e12, rel=0.001)
    assert time.backward_s == 2 * time.forward_s


def test_many_microbatches_are_bound_by_memory() -> None:
    workload = load_workload("transformer-17b")
    npu = Npu(hbm_bytes_per_s=HBM_BYTES_PER_S / 1000)
    time = compute_time(workload, Strategy(3, 3, 2), npu)
    # Each of 8 microbatches reads a sixth of 2 x 17.18 G bytes.
    assert time.forward_s == pytest.approx(8 * 2 * 17.18e9 / 6 / 3e9, rel=0.001)


def test_time_falls_with_model_parallelism_and_efficiency() -> None:
    workload = load_workload("gpt-3")
    one = compute_time(workload, Strategy(1, 5, 1))
    four = compute_time(workload, Strategy(2, 5, 2))
    slow = compute_time(workload, Strategy(1, 5, 1), Npu(efficiency=0.5))
    assert four.total_s == pytest.approx(one.total_s / 4)
    assert slow.total_s == pytest.approx(one.total_s * 2)


def test_efficiency_is_stated_as_an_assumption() -> None:
    time = compute_time(load_workload("gpt-3"), Strategy(2, 5, 2), Npu(efficiency=0.4))
    assert f"roofline of {PEAK_FLOPS:g} FLOP/s at efficiency 0.4" in time.assumptions[0]


@pytest.mark.parametrize("efficiency", [0.0, 1.1, float("nan")])
def test_bad_efficiency_is_refused(efficiency: float) -> None:
    message = rf"^Npu efficiency must be above 0 and at most 1, not {efficiency}$"
    with pytest.raises(ValueError, match=message):
        Npu(efficiency=efficiency)


@pytest.mark.parametrize("name", ["peak_flops", "hbm_bytes_per_s"])
def test_bad_rate_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^Npu {name} must be above 0, not 0\.0$"):
        Npu(**{name: 0.0})
