"""The golden arithmetic against exact rational arithmetic and the words of the standards."""

from fractions import Fraction

import numpy as np
import pytest

from fred_hw.formats.number_format import FORMATS, FloatFormat
from fred_hw.operations.operation import is_nan, storage
from testbench.models.arithmetic import combine
from testbench.volume.vectors import float_pairs, special_values
from tests.fred_hw.formats.e4m3 import E4M3

ALL = dict.fromkeys((*FORMATS.values(), E4M3))
FLOATS = [form for form in ALL if isinstance(form, FloatFormat)]


def exact(bits: int, form: FloatFormat) -> Fraction:
    """Return the value of a finite number."""
    fraction = bits & ((1 << form.fraction_bits) - 1)
    field = (bits >> form.fraction_bits) & ((1 << form.exponent_bits) - 1)
    significand = fraction + (bool(field) << form.fraction_bits)
    value = Fraction(significand) * Fraction(2) ** (max(field, 1) - form.bias - form.fraction_bits)
    return -value if bits >> (form.width - 1) else value


def nearest(value: Fraction, form: FloatFormat) -> int:
    """Return the bits of the nearest number, ties to even (IEEE 754-2019, 4.3.1)."""
    sign = (value < 0) << (form.width - 1)
    value = abs(value)
    smallest = 1 - form.bias  # exponent of the smallest normal number
    exponent = max(smallest, value.numerator.bit_length() - value.denominator.bit_length() - 1)
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    units = value / Fraction(2) ** (exponent - form.fraction_bits)
    whole = units.numerator // units.denominator
    rest = units - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    # Adding the significand to the exponent field lets the hidden bit and carries count.
    bits = whole + ((exponent - smallest) << form.fraction_bits)
    if bits > form.largest:
        bits = form.beyond
        return bits if bits >= form.first_nan else sign | bits  # NaNs have no sign
    return sign | bits


@pytest.mark.parametrize("has_infinity", [False, True])
@pytest.mark.parametrize("exponent_bits", range(2, 7))
def test_special_values_of_every_split_of_a_byte_are_numbers_of_it(
    exponent_bits: int, has_infinity: bool
) -> None:
    form = FloatFormat("float8", exponent_bits, 7 - exponent_bits, "", has_infinity=has_infinity)
    found = special_values(form)
    assert found.max() <= 0xFF
    assert {0, form.largest, form.first_nan, form.bias << form.fraction_bits} <= {*found.tolist()}
    a, b = float_pairs(form, 300, np.random.default_rng(1))
    assert max(a.max(), b.max()) <= 0xFF


@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_sums_are_the_nearest_numbers(form: FloatFormat) -> None:
    a, b = float_pairs(form, 6_000, np.random.default_rng(3))
    magnitude = (1 << (form.width - 1)) - 1
    finite = ((a & magnitude) <= form.largest) & ((b & magnitude) <= form.largest)
    a, b = a[finite], b[finite]
    got = combine(a, b, form, "sum")
    checked = 0
    for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        total = exact(x, form) + exact(y, form)
        if total:  # the sign of zero is the next test's
            assert z == nearest(total, form), f"{x:#x} + {y:#x}"
            checked += 1
    assert checked > 4_000


@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_zeros_infinities_and_nans_add_as_the_standard_says(form: FloatFormat) -> None:
    minus = 1 << (form.width - 1)
    one = form.bias << form.fraction_bits
    cases = [
        (0, 0, 0),
        (minus, minus, minus),
        (0, minus, 0),
        (one, one | minus, 0),
        (form.first_nan, one, form.canonical_nan),
        (form.largest, form.largest, form.beyond),
    ]
    if form.infinity is not None:
        infinity = form.infinity
        cases += [
            (infinity, one, infinity),
            (infinity, infinity | minus, form.canonical_nan),
            (one, minus | infinity, minus | infinity),
        ]
    for a, b, want in cases:
        kind = storage(form)
        got = combine(np.array([a], kind), np.array([b], kind), form, "sum")
        assert got[0] == want, f"{a:#x} + {b:#x}"


@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_maximum_number_prefers_numbers_and_plus_zero(form: FloatFormat) -> None:
    minus = 1 << (form.width - 1)
    # E4M3 has one NaN, and no number beyond the largest.
    signalling, quiet = form.first_nan, form.canonical_nan
    infinity = form.largest if form.infinity is None else form.infinity
    a = np.array([0, minus, signalling, quiet, signalling, minus | 1], storage(form))
    b = np.array([minus, 0, 5, minus | infinity, quiet, minus | 2], storage(form))
    largest = combine(a, b, form, "max").tolist()
    least = combine(a, b, form, "min").tolist()
    assert largest == [0, 0, 5, minus | infinity, quiet, minus | 1]
    assert least == [minus, minus, 5, minus | infinity, quiet, minus | 2]
    assert is_nan(a, form).tolist() == [False, False, True, True, True, False]
