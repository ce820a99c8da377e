"""Tests of fred_hw.operations.sum: what it takes, and pairs worked by hand.

All sums are compared with exact arithmetic in tests/testbench/models/test_arithmetic.py.
"""

import numpy as np
import pytest

from fred_hw.formats.number_format import FORMATS, FloatFormat
from fred_hw.formats.values import storage
from fred_hw.operations.operation import OPERATIONS
from fred_hw.spec import SwitchSpec

SUM = OPERATIONS["sum"]


def added(form: str, pairs: list[tuple[int, int]], overflow: str = "saturate") -> list[int]:
    a, b = np.array(pairs, storage(FORMATS[form])).T
    return SUM.golden(a, b, FORMATS[form], overflow).tolist()


def test_every_format_is_taken_and_overflow_matters_to_integers_alone() -> None:
    assert SUM.overflows
    for name, form in FORMATS.items():
        assert SUM.takes(form)
        wraps = SwitchSpec(ports=2, format=name, overflow="wrap").overflow == "wrap"
        assert wraps is not isinstance(form, FloatFormat)


@pytest.mark.parametrize(
    ("form", "registers"),
    [("fp16", 2), ("bf16", 2), ("fp32", 2), ("int8", 0), ("int16", 0), ("int32", 0)],
)
def test_registers_are_as_few_as_reach_the_clock(form: str, registers: int) -> None:
    assert SUM.registers(FORMATS[form]) == registers
    assert SwitchSpec(ports=2, format=form).adder_registers == registers


def test_halfway_sums_of_fp16_go_to_even() -> None:
    # 2048 + 1 lies between 2048 and 2050, 2050 + 1 between 2050 and 2052; 1 + 1.5 is 2.5.
    two, even, one = 0x6800, 0x6802, 0x3C00
    assert added("fp16", [(two, one), (0x6801, one), (one, 0x3E00)]) == [two, even, 0x4100]


def test_integers_saturate_or_wrap() -> None:
    pairs = [(127, 1), (128, 255), (100, 100), (255, 1)]
    assert added("int8", pairs) == [127, 128, 127, 0]
    assert added("int8", pairs, "wrap") == [128, 127, 200, 0]
    ends = [(0x7FFFFFFF, 1), (0x80000000, 0xFFFFFFFF)]
    assert added("int32", ends) == [0x7FFFFFFF, 0x80000000]
    assert added("int32", ends, "wrap") == [0x80000000, 0x7FFFFFFF]


def test_integers_without_a_sign_end_at_all_ones() -> None:
    assert added("uint8", [(127, 1), (200, 100), (255, 255)]) == [128, 255, 255]
    assert added("uint8", [(127, 1), (200, 100), (255, 255)], "wrap") == [128, 44, 254]
