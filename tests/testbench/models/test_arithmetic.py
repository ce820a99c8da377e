"""The golden arithmetic against exact rational arithmetic and the words of the standards."""

from fractions import Fraction

import numpy as np
import pytest

from fred_hw.formats.number_format import FORMATS, FloatFormat
from fred_hw.formats.values import is_nan, numbers_of, storage, stored
from testbench.models.arithmetic import combine
from testbench.volume.vectors import float_pairs, special_values

FLOATS = [form for form in FORMATS.values() if isinstance(form, FloatFormat)]


def exact(bits: int, form: FloatFormat) -> Fraction:
    """Return the value of a finite number."""
    fraction = bits & ((1 << form.fraction_bits) - 1)
    field = (bits >> form.fraction_bits) & ((1 << form.exponent_bits) - 1)
    significand = fraction + (bool(field) << form.fraction_bits)
    value = Fraction(significand) * Fraction(2) ** (max(field, 1) - form.bias - form.fraction_bits)
    return -value if bits >> (form.bits - 1) else value


def combined(a: list[int], b: list[int], form: FloatFormat, operation: str) -> list[int]:
    """Return the encodings of results, given those of operands."""
    first, second = (stored(np.array(one), form) for one in (a, b))
    return numbers_of(combine(first, second, form, operation), form).tolist()


def nearest(value: Fraction, form: FloatFormat) -> int:
    """Return the bits of the nearest number, ties to even (IEEE 754-2019, 4.3.1)."""
    sign = (value < 0) << (form.bits - 1)
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
    form = FloatFormat("float8", exponent_bits, 7 - exponent_bits, has_infinity=has_infinity)
    found = special_values(form)
    assert found.max() <= 0xFF
    assert {0, form.largest, form.first_nan, form.bias << form.fraction_bits} <= {*found.tolist()}
    a, b = float_pairs(form, 300, np.random.default_rng(1))
    assert max(a.max(), b.max()) <= 0xFF


@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_sums_are_the_nearest_numbers(form: FloatFormat) -> None:
    a, b = (numbers_of(one, form) for one in float_pairs(form, 6_000, np.random.default_rng(3)))
    magnitude = (1 << (form.bits - 1)) - 1
    finite = ((a & magnitude) <= form.largest) & ((b & magnitude) <= form.largest)
    a, b = a[finite], b[finite]
    got = combined(a.tolist(), b.tolist(), form, "sum")
    checked = 0
    for x, y, z in zip(a.tolist(), b.tolist(), got, strict=True):
        total = exact(x, form) + exact(y, form)
        if total:  # the sign of zero is the next test's
            assert z == nearest(total, form), f"{x:#x} + {y:#x}"
            checked += 1
    assert checked > 4_000


@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_zeros_infinities_and_nans_add_as_the_standard_says(form: FloatFormat) -> None:
    minus = 1 << (form.bits - 1)
    one = form.bias << form.fraction_bits
    cases = [
        (0, 0, 0),
        (minus, minus, minus),
        (0, minus, 0),
        (one, one | minus, 0),
        (form.largest, form.largest, form.beyond),
    ]
    nan = form.canonical_nan
    if nan is not None:
        cases.append((form.first_nan, one, nan))
    if nan is not None and form.infinity is not None:
        infinity = form.infinity
        cases += [
            (infinity, one, infinity),
            (infinity, infinity | minus, nan),
            (one, minus | infinity, minus | infinity),
        ]
    for a, b, want in cases:
        assert combined([a], [b], form, "sum") == [want], f"{a:#x} + {b:#x}"


@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_maximum_number_prefers_numbers_and_plus_zero(form: FloatFormat) -> None:
    minus = 1 << (form.bits - 1)
    infinity = form.largest if form.infinity is None else form.infinity
    a, b = [0, minus, minus | 1, infinity], [minus, 0, minus | 2, form.largest]
    largest, least = [0, 0, minus | 1, infinity], [minus, minus, minus | 2, form.largest]
    if form.canonical_nan is not None:  # E4M3 has one NaN
        signalling, quiet = form.first_nan, form.canonical_nan
        a += [signalling, quiet, signalling]
        b += [5, minus | infinity, quiet]
        largest += [5, minus | infinity, quiet]
        least += [5, minus | infinity, quiet]
    assert combined(a, b, form, "max") == largest
    assert combined(a, b, form, "min") == least
    nans = is_nan(np.array(a, storage(form)), form).tolist()
    assert nans == [False] * 4 + [True] * (len(a) - 4)
