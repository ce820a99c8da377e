"""Rounding to a narrower format: ties, limits of the range, NaNs, timing."""

import ml_dtypes
import numpy as np
import pytest

from fred_hw.arith.narrow import Narrow, narrowing_cycles
from fred_hw.formats.bf16 import BF16
from fred_hw.formats.fp8_e4m3 import FP8_E4M3
from fred_hw.formats.fp8_e5m2 import FP8_E5M2
from fred_hw.formats.fp16 import FP16
from fred_hw.formats.fp32 import FP32
from fred_hw.formats.number_format import FloatFormat
from fred_hw.formats.values import converted, is_nan
from tests.fred_hw.arith.conversions import PAIRS, every_word, in_hardware, near_limits
from tests.fred_hw.simulation import trace


@pytest.mark.parametrize(("narrow", "wide"), PAIRS, ids=lambda one: one.name)
def test_numbers_are_rounded_to_the_nearest_ties_to_even(
    narrow: FloatFormat, wide: FloatFormat
) -> None:
    words = near_limits(narrow, wide, np.random.default_rng(4))
    got = in_hardware(Narrow(wide=wide, narrow=narrow), words, narrow)
    np.testing.assert_array_equal(got, converted(words, wide, narrow))


@pytest.mark.parametrize("narrow", [FP8_E4M3, FP8_E5M2], ids=lambda one: one.name)
def test_every_half_is_rounded_as_by_ml_dtypes(narrow: FloatFormat) -> None:
    kind = {FP8_E4M3: ml_dtypes.float8_e4m3fn, FP8_E5M2: ml_dtypes.float8_e5m2}[narrow]
    words = every_word(FP16)
    words = words[~is_nan(words, FP16)]
    got = in_hardware(Narrow(wide=FP16, narrow=narrow), words, narrow)
    with np.errstate(over="ignore"):
        want = words.view(np.float16).astype(kind).view(np.uint8)
    assert narrow.canonical_nan is not None
    want = np.where(is_nan(want, narrow), narrow.canonical_nan, want)
    np.testing.assert_array_equal(got, want)


def test_numbers_of_float32_are_rounded_as_by_numpy() -> None:
    rng = np.random.default_rng(5)
    words = near_limits(FP16, FP32, rng)
    words = words[~is_nan(words, FP32)]
    with np.errstate(over="ignore"):
        want = words.view(np.float32).astype(np.float16).view(np.uint16)
    np.testing.assert_array_equal(converted(words, FP32, FP16), want)


@pytest.mark.parametrize(("narrow", "wide"), PAIRS, ids=lambda one: one.name)
def test_a_widened_number_comes_back_and_so_do_nans(narrow: FloatFormat, wide: FloatFormat) -> None:
    words = every_word(narrow)
    if narrow.bits > 8:
        words = np.concatenate([words[:: 1 << narrow.bits - 10], words[:100], words[-100:]])
    wider = converted(words, narrow, wide)
    np.testing.assert_array_equal(converted(wider, wide, narrow), words)
    got = in_hardware(Narrow(wide=wide, narrow=narrow), wider, narrow)
    np.testing.assert_array_equal(got, words)


def test_a_nan_without_an_upper_payload_stays_one() -> None:
    words = [0x7F800001, 0xFF800001, 0x7FC00000, 0xFF812345]
    for narrow, wanted in ((FP16, [0x7E00, 0xFE00, 0x7E00, 0xFC09]), (BF16, [0x7FC0, 0xFFC0])):
        got = in_hardware(Narrow(wide=FP32, narrow=narrow), words, narrow)
        assert got.tolist()[: len(wanted)] == wanted


def test_latency_is_a_cycle_more_where_exponents_differ() -> None:
    assert [narrowing_cycles(FP32, one) for one in (BF16, FP16)] == [1, 2]
    steps = [{"i": 0x3F800000}, {}, {}, {}]
    assert trace(Narrow(wide=FP32, narrow=BF16), steps, ["o"]) == [0, 0x3F80, 0, 0]
    assert trace(Narrow(wide=FP32, narrow=FP16), steps, ["o"]) == [0, 0, 0x3C00, 0]


def test_throughput_is_a_number_per_cycle() -> None:
    words = np.array([1, 2, 4], np.float32).view(np.uint32)
    got = in_hardware(Narrow(wide=FP32, narrow=FP16), words, FP16)
    assert got.view(np.float16).tolist() == [1, 2, 4]


def test_reset_clears_nothing() -> None:
    steps = [{"i": 0x3F800000}, {"rst": 1}, {}]
    assert trace(Narrow(wide=FP32, narrow=FP16), steps, ["o"]) == [0, 0, 0x3C00]


def test_a_format_that_is_not_contained_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Narrow wide must contain bf16, not be fp16$"):
        Narrow(wide=FP16, narrow=BF16)
