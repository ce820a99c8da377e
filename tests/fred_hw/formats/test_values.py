"""Tests of fred_hw.formats.values: values and sums against numpy and ml_dtypes.

tests/testbench/models/test_arithmetic.py compares sums with exact rational arithmetic.
"""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from fred_hw.formats.number_format import FORMATS, FloatFormat, IntFormat
from fred_hw.formats.values import encoded, numbers_of, storage, stored, values_of
from testbench.models.arithmetic import combine
from testbench.volume.vectors import float_pairs

TYPES: dict[str, Any] = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
SMALL = [form for form in FORMATS.values() if form.bits <= 19]


def float_format(name: str) -> FloatFormat:
    form = FORMATS[name]
    assert isinstance(form, FloatFormat)
    return form


@pytest.mark.parametrize("name", TYPES)
def test_values_and_sums_are_those_of_the_library(name: str) -> None:
    form, kind = float_format(name), TYPES[name]
    a, b = (
        one.astype(storage(form)) for one in float_pairs(form, 60_000, np.random.default_rng(7))
    )
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(values_of(a, form), a.view(kind).astype(np.float64))
        total = a.view(kind) + b.view(kind)
    assert form.canonical_nan is not None
    wanted = np.where(np.isnan(total), form.canonical_nan, total.view(storage(form)))
    np.testing.assert_array_equal(combine(a, b, form, "sum"), wanted)


@pytest.mark.parametrize("form", SMALL, ids=lambda form: form.name)
def test_every_number_is_the_encoding_of_its_value(form: FloatFormat | IntFormat) -> None:
    numbers = np.arange(1 << form.bits, dtype=np.uint32)
    back = encoded(values_of(numbers, form), form)
    if isinstance(form, FloatFormat) and form.canonical_nan is not None:
        magnitude = numbers & ((1 << (form.bits - 1)) - 1)
        numbers = np.where(magnitude >= form.first_nan, form.canonical_nan, numbers)
    np.testing.assert_array_equal(back, numbers)


def test_storage_words_have_zeros_as_padding() -> None:
    form = IntFormat("int4", 4, padding_below=1, padding_above=3)
    words = stored(np.array([0, 5, 15]), form)
    assert (words.dtype, words.tolist()) == (np.dtype("u1"), [0, 10, 30])
    assert numbers_of(words | np.uint8(0xE1), form).tolist() == [0, 5, 15]
    assert values_of(numbers_of(words, form), form).tolist() == [0, 5, -1]
    assert encoded(np.array([-9, -8, 8]), form).tolist() == [8, 8, 7]
    assert encoded(np.array([-9, -8, 8]), form, "wrap").tolist() == [7, 8, 8]
