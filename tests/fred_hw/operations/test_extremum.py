"""Tests of fred_hw.operations.extremum, max and min: what they take, and pairs by hand.

Every format is in tests/testbench/models/test_arithmetic.py.
"""

import numpy as np
import pytest

from fred_hw.formats.number_format import FORMATS
from fred_hw.formats.values import storage
from fred_hw.operations.operation import OPERATIONS
from fred_hw.spec import SwitchSpec


def chosen(operation: str, form: str, pairs: list[tuple[int, int]]) -> list[int]:
    a, b = np.array(pairs, storage(FORMATS[form])).T
    return OPERATIONS[operation].golden(a, b, FORMATS[form], "saturate").tolist()


@pytest.mark.parametrize("operation", ["max", "min"])
def test_every_format_is_taken_without_a_register_and_without_overflow(operation: str) -> None:
    one = OPERATIONS[operation]
    assert not one.overflows
    for name, form in FORMATS.items():
        spec = SwitchSpec(ports=2, format=name, operation=operation, overflow="wrap")
        assert one.takes(form) and one.registers(form) == 0
        assert (spec.adder_registers, spec.overflow) == (0, "saturate")


@pytest.mark.parametrize(("operation", "want"), [("max", [127, 255, 100]), ("min", [1, 128, 255])])
def test_bytes_are_ordered_with_their_sign(operation: str, want: list[int]) -> None:
    assert chosen(operation, "int8", [(127, 1), (128, 255), (255, 100)]) == want


@pytest.mark.parametrize(("operation", "want"), [("max", [127, 255, 255]), ("min", [1, 128, 100])])
def test_bytes_without_a_sign_are_ordered_as_they_stand(operation: str, want: list[int]) -> None:
    assert chosen(operation, "uint8", [(127, 1), (128, 255), (255, 100)]) == want


@pytest.mark.parametrize(
    ("operation", "want"), [("max", [0x4000, 0, 0x3C00]), ("min", [0xC000, 0x8000, 0x3C00])]
)
def test_a_nan_loses_and_minus_zero_is_below_plus_zero(operation: str, want: list[int]) -> None:
    assert chosen(operation, "fp16", [(0x4000, 0xC000), (0x8000, 0), (0x7E01, 0x3C00)]) == want
    assert chosen(operation, "fp16", [(0xFE01, 0x7D00)]) == [0x7E00]
