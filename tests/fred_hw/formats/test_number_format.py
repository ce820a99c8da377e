"""Tests of fred_hw.formats.number_format."""

import re
from collections.abc import Callable

import pytest

from fred_hw.formats.number_format import FORMATS, FloatFormat, IntFormat, NumberFormat


def test_formats_stand_in_the_order_of_their_ranks() -> None:
    ranked = ["fp16", "bf16", "fp32", "int8", "int16", "int32"]
    assert list(FORMATS)[: len(ranked)] == ranked  # those without a rank come behind
    assert all(form.name == name for name, form in FORMATS.items())
    assert [FORMATS[name].width for name in ranked] == [16, 16, 32, 8, 16, 32]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: FloatFormat("x", 1, 6, "x"),
            ValueError,
            "FloatFormat exponent_bits must be 2 or more, not 1",
        ),
        (
            lambda: FloatFormat("x", 7, 0, "x"),
            ValueError,
            "FloatFormat fraction_bits must be 1 or more, not 0",
        ),
        (
            lambda: FloatFormat("x", 4, 4, "x"),
            ValueError,
            "FloatFormat width must be one of (8, 16, 32), not 9",
        ),
        (
            lambda: IntFormat("x", 12),
            ValueError,
            "IntFormat width must be one of (8, 16, 32), not 12",
        ),
        (lambda: IntFormat("x", True), TypeError, "IntFormat width must be an integer, not True"),
    ],
)
def test_bad_parameter_is_refused(
    make: Callable[[], NumberFormat], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        make()
