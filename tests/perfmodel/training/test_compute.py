"""Tests of perfmodel.training.compute; rooflines worked by hand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.training.compute import EFFICIENCY, PEAK_FLOPS, LayerTime, Npu, layer_time
from perfmodel.workloads.layers import KINDS, Layer, Operator
from perfmodel.workloads.workload import load_workload

ALL_HALF: dict[str, float] = dict.fromkeys(KINDS, 0.5)
SLOW = Npu(peak_flops=100.0, hbm_bytes_per_s=10.0, hbm_bytes=1.0, efficiency=ALL_HALF)


def layer(*operators: Operator, splits: bool = True) -> Layer:
    return Layer("test", operators, 1, 1.0, splits=splits)


def test_roofline_takes_the_slower_of_operations_and_memory() -> None:
    assert SLOW.time_s("matmul", flops=100.0, moved_bytes=1.0) == 2.0
    assert SLOW.time_s("matmul", flops=100.0, moved_bytes=50.0) == 5.0


def test_layer_adds_its_operators_worked_by_hand() -> None:
    one = layer(
        Operator("product", "matmul", 100.0, 5, 10.0), Operator("sum", "elementwise", 1.0, 0, 20.0)
    )
    time = layer_time(one, samples=2, mp=1, npu=SLOW)
    # 200 operations at 50/s against 2 (2 * 10 + 5) bytes at 10/s; then 2 * 2 * 20 bytes.
    assert time.forward_s == pytest.approx(max(4.0, 5.0) + 8.0)
    assert time.backward_s == pytest.approx(2 * time.forward_s)


def test_npu_of_a_model_may_know_the_time_of_a_whole_layer() -> None:
    class Measured(Npu):
        def layer_s(self, layer: Layer, samples: float, mp: int) -> LayerTime:
            return LayerTime(samples / mp, 5 * samples / mp)

    one = layer(Operator("product", "matmul", 100.0, 4, 10.0))
    assert layer_time(one, 8, 2, Measured()) == LayerTime(4.0, 20.0)
    assert layer_time(one, 8, 2, Npu()) != LayerTime(4.0, 20.0)


def test_model_parallelism_divides_work_and_weights() -> None:
    one = layer(Operator("product", "matmul", 100.0, 4, 10.0))
    whole, shared = (layer_time(one, 1, mp, SLOW).forward_s for mp in (1, 4))
    assert shared == pytest.approx(whole / 4)


def test_layer_that_does_not_split_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^mp must be 1 for test, which does not split, not 2$"):
        layer_time(layer(splits=False), 1, 2, SLOW)


def test_gpt_3_reaches_three_quarters_of_the_peak() -> None:
    network = load_workload("gpt-3").network
    time_s = sum(layer_time(one, 8, 2, Npu()).forward_s for one in network.layers)
    reached = 8 * network.forward_flops / 2 / time_s / PEAK_FLOPS
    assert 0.65 < reached < EFFICIENCY["matmul"]


def test_resnet_is_bound_by_memory_in_part() -> None:
    network = load_workload("resnet-152").network
    time_s = sum(layer_time(one, 16, 1, Npu()).forward_s for one in network.layers)
    assert 0.05 < 16 * network.forward_flops / time_s / PEAK_FLOPS < EFFICIENCY["convolution"]


def test_efficiency_is_stated_as_an_assumption() -> None:
    stated = Npu().assumptions[0]
    assert f"roofline of {PEAK_FLOPS:g} FLOP/s at efficiency attention 0.75" in stated
    assert all(kind in stated for kind in KINDS)


@pytest.mark.parametrize("share", [0.0, 1.1, float("nan")])
def test_bad_efficiency_is_refused(share: float) -> None:
    message = rf"^Npu efficiency of matmul must be above 0 and at most 1, not {share}$"
    with pytest.raises(ValueError, match=message):
        Npu(efficiency={**ALL_HALF, "matmul": share})


def test_missing_efficiency_is_refused() -> None:
    message = f"Npu efficiency must be given for {', '.join(KINDS)}, not matmul"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Npu(efficiency={"matmul": 0.5})


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 20))
def test_more_samples_take_longer_and_more_npus_less(samples: int, more: int, mp: int) -> None:
    one = load_workload("transformer-17b").network.layers[1]
    usual = layer_time(one, samples, mp, Npu())
    assert layer_time(one, samples + more, mp, Npu()).forward_s > usual.forward_s
    assert layer_time(one, samples, mp + 1, Npu()).forward_s < usual.forward_s
    assert usual.backward_s == pytest.approx(2 * usual.forward_s)


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_efficiency_divides_the_rate_of_its_kind_only(kind: str, share: float) -> None:
    npu = Npu(100.0, 1e9, 1.0, {**ALL_HALF, kind: share})
    for other in KINDS:
        expected = 100.0 / (100.0 * (share if other == kind else 0.5))
        assert npu.time_s(other, 100.0, 0.0) == pytest.approx(expected)


def test_weights_are_read_once_for_all_samples() -> None:
    one = layer(Operator("product", "matmul", 0.0, 1000, 1.0))
    first, both = (layer_time(one, samples, 1, SLOW).forward_s for samples in (1, 2))
    assert (first, both) == (2 * (1 + 1000) / 10.0, 2 * (2 + 1000) / 10.0)


@pytest.mark.parametrize("share", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["peak_flops", "hbm_bytes_per_s", "hbm_bytes"])
def test_rates_that_are_not_above_zero_and_finite_are_refused(name: str, share: float) -> None:
    with pytest.raises(ValueError, match=rf"^Npu {name} must be above 0 and finite, not {share}$"):
        Npu(**{name: share})  # type: ignore[arg-type]
