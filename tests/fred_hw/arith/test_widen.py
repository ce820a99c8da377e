"""Conversion to a wider format: values, NaNs, timing."""

import numpy as np
import pytest

from fred_hw.arith.widen import Widen, widening_cycles
from fred_hw.formats.bf16 import BF16
from fred_hw.formats.fp16 import FP16
from fred_hw.formats.fp32 import FP32
from fred_hw.formats.integers import INT8
from fred_hw.formats.number_format import FloatFormat
from fred_hw.formats.values import converted, is_nan, numbers_of, values_of
from tests.fred_hw.arith.conversions import PAIRS, every_word, in_hardware
from tests.fred_hw.simulation import trace

SMALL = [pair for pair in PAIRS if pair[0].bits <= 8]


@pytest.mark.parametrize(("narrow", "wide"), SMALL, ids=lambda one: one.name)
def test_every_small_number_keeps_its_value(narrow: FloatFormat, wide: FloatFormat) -> None:
    words = every_word(narrow)
    got = in_hardware(Widen(narrow=narrow, wide=wide), words, wide)
    numbers, wider = numbers_of(words, narrow), numbers_of(got, wide)
    np.testing.assert_array_equal(values_of(wider, wide), values_of(numbers, narrow))
    np.testing.assert_array_equal(wider >> wide.bits - 1, numbers >> narrow.bits - 1)
    np.testing.assert_array_equal(got, converted(words, narrow, wide))


@pytest.mark.parametrize(
    ("narrow", "wide"), [pair for pair in PAIRS if pair not in SMALL], ids=lambda one: one.name
)
def test_a_sample_of_large_numbers_keeps_its_value(narrow: FloatFormat, wide: FloatFormat) -> None:
    words = every_word(narrow)
    words = words[:: 1 << narrow.bits - 11]
    words = np.concatenate([words, every_word(narrow)[:200], every_word(narrow)[-200:]])
    got = in_hardware(Widen(narrow=narrow, wide=wide), words, wide)
    np.testing.assert_array_equal(
        values_of(numbers_of(got, wide), wide), values_of(numbers_of(words, narrow), narrow)
    )
    np.testing.assert_array_equal(got, converted(words, narrow, wide))


def test_values_are_those_of_numpy() -> None:
    halves = every_word(FP16)
    numbers = halves[~is_nan(halves, FP16)]
    want = numbers.view(np.float16).astype(np.float32).view(np.uint32)
    np.testing.assert_array_equal(converted(numbers, FP16, FP32), want)


def test_latency_is_a_cycle_where_exponents_differ_and_else_none() -> None:
    assert [widening_cycles(one, FP32) for one in (FP16, BF16)] == [1, 0]
    steps = [{"i": 0x3C00}, {}, {}]
    assert trace(Widen(narrow=FP16, wide=FP32), steps, ["o"]) == [0, 0x3F800000, 0]
    assert trace(Widen(narrow=BF16, wide=FP32), [{"i": 0x3F80}, {}], ["o"]) == [0x3F800000, 0]


def test_throughput_is_a_number_per_cycle() -> None:
    got = in_hardware(Widen(narrow=FP16, wide=FP32), [0x3C00, 0x4000, 0x4400], FP32)
    assert got.view(np.float32).tolist() == [1, 2, 4]


def test_reset_clears_nothing() -> None:
    steps = [{"i": 0x3C00, "rst": 1}, {}]
    assert trace(Widen(narrow=FP16, wide=FP32), steps, ["o"]) == [0, 0x3F800000]


def test_a_format_that_does_not_contain_the_other_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Widen wide must contain fp16, not be bf16$"):
        Widen(narrow=FP16, wide=BF16)
    with pytest.raises(TypeError, match=r"^Widen narrow must be a FloatFormat, not "):
        Widen(narrow=INT8, wide=FP32)  # pyright: ignore[reportArgumentType]
