"""Tests of fred_hw.formats.number_format."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.formats.number_format import FORMATS, FloatFormat, IntFormat, NumberFormat

from .every_pair import check_integers, simulated


def test_formats_stand_in_the_order_of_their_ranks() -> None:
    ranked = ["fp16", "bf16", "fp32", "int8", "int16", "int32"]
    assert list(FORMATS)[: len(ranked)] == ranked  # those without a rank come behind
    assert all(form.name == name for name, form in FORMATS.items())
    assert [FORMATS[name].bits for name in ranked] == [16, 16, 32, 8, 16, 32]
    assert all(FORMATS[name].storage_bits == FORMATS[name].bits for name in ranked)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: FloatFormat("x", 1, 6),
            ValueError,
            "FloatFormat exponent_bits must be 2 to 8, not 1",
        ),
        (
            lambda: FloatFormat("x", 7, 24),
            ValueError,
            "FloatFormat fraction_bits must be 1 to 23, not 24",
        ),
        (
            lambda: FloatFormat("x", 4, 4),
            ValueError,
            "FloatFormat storage_bits must be one of (8, 16, 32), not 9",
        ),
        (
            lambda: FloatFormat("x", 3, 2, has_nan=False, padding_above=2),
            ValueError,
            "FloatFormat has_infinity must be False without NaNs, not True",
        ),
        (
            lambda: IntFormat("x", 12, padding_above=3),
            ValueError,
            "IntFormat storage_bits must be one of (8, 16, 32), not 15",
        ),
        (
            lambda: IntFormat("x", 12, padding_below=-4, padding_above=8),
            ValueError,
            "IntFormat padding_below must be 0 or more, not -4",
        ),
        (lambda: IntFormat("x", True), TypeError, "IntFormat bits must be an integer, not True"),
    ],
)
def test_bad_parameter_is_refused(
    make: Callable[[], NumberFormat], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        make()


@pytest.mark.slow
@simulated
def test_integers_with_padding_on_both_sides_are_right(tmp_path: Path) -> None:
    check_integers(IntFormat("int4", 4, padding_below=1, padding_above=3), tmp_path)
