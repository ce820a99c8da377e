"""Tests of fred_hw.formats.tf32: binary32 rounded to 10 bits of fraction."""

import numpy as np

from fred_hw.formats.tf32 import TF32
from fred_hw.formats.values import numbers_of, values_of
from testbench.models.arithmetic import combine
from testbench.volume.vectors import float_pairs


def test_storage_word_is_binary32_without_the_lower_fraction() -> None:
    assert (TF32.bits, TF32.storage_bits, TF32.place) == (19, 32, slice(13, 32))
    words = np.array([1.0, -2.5, 1 + 2**-10, 2.0**-136, np.inf], np.float32).view(np.uint32)
    values = values_of(numbers_of(words, TF32), TF32)
    assert values.tolist() == [1, -2.5, 1 + 2**-10, 2.0**-136, np.inf]


def test_sums_are_those_of_binary32_rounded_to_ten_bits() -> None:
    """Rounding twice is innocuous, as 24 bits of significand are at least 2 * 11 + 2."""
    a, b = float_pairs(TF32, 300_000, np.random.default_rng(5))
    with np.errstate(all="ignore"):
        x, y = ((words & ~np.uint32(0x1FFF)).view(np.float32) for words in (a, b))
        total = x + y
    bits = total.view(np.uint32)
    rounded = (bits + 0xFFF + (bits >> 13 & 1)) & ~np.uint32(0x1FFF)
    wanted = np.where(np.isnan(total), np.uint32(0x7FC00000), rounded)
    np.testing.assert_array_equal(combine(a, b, TF32, "sum"), wanted)
