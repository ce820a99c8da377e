"""Contracts of the arithmetic units: refusals, names, latency, throughput."""

from collections.abc import Callable

import pytest

from fred_hw.arith.extremum import FloatExtremum, IntExtremum
from fred_hw.arith.float_add import FloatAdd
from fred_hw.arith.int_add import IntAdd
from fred_hw.datapath.reducer import Reducer
from fred_hw.datapath.reduction import reduction_unit
from fred_hw.formats.number_format import FORMATS
from fred_hw.operations.operation import OPERATIONS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from tests.fred_hw.simulation import trace

FP16, INT8 = FORMATS["fp16"], FORMATS["int8"]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: FloatAdd(number_format=FP16, registers=9),
            ValueError,
            "FloatAdd registers must be 0 to 8, not 9",
        ),
        (
            lambda: FloatAdd(number_format=FP16, registers=True),
            TypeError,
            "FloatAdd registers must be an integer, not True",
        ),
        (
            lambda: FloatAdd(number_format=INT8, registers=1),
            TypeError,
            f"FloatAdd number_format must be a FloatFormat, not {INT8!r}",
        ),
        (
            lambda: IntAdd(number_format=INT8, overflow="clip", registers=1),
            ValueError,
            "IntAdd overflow must be one of saturate, wrap, not 'clip'",
        ),
        (
            lambda: IntExtremum(number_format=INT8, operation="sum", registers=1),
            ValueError,
            "IntExtremum operation must be one of max, min, not 'sum'",
        ),
        (
            lambda: FloatExtremum(number_format=FP16, operation="sum", registers=1),
            ValueError,
            "FloatExtremum operation must be one of max, min, not 'sum'",
        ),
        (
            lambda: reduction_unit(FP16, "mean", "wrap", 1),
            ValueError,
            f"operation must be one of {', '.join(OPERATIONS)}, not 'mean'",
        ),
    ],
)
def test_bad_parameter_is_refused(
    make: Callable[[], Unit], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as refused:
        make()
    assert str(refused.value) == message


ONE, TWO = 0x3C00, 0x4000
UNITS = pytest.mark.parametrize(
    ("form", "operation", "one", "two"),
    [
        ("fp16", "sum", ONE, TWO),
        ("int8", "sum", 1, 2),
        ("fp16", "max", ONE, TWO),
        ("int8", "max", 1, 2),
    ],
)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("registers", range(9))
@UNITS
def test_latency_is_the_registers_and_throughput_a_result_per_cycle(
    form: str, operation: str, one: int, two: int, registers: int
) -> None:
    unit = reduction_unit(FORMATS[form], operation, "wrap", registers)
    assert unit.unit_name.endswith(f"_a{registers}")
    assert unit.clocked == (registers > 0) and unit.inside + unit.behind == registers
    pairs = [(one, 0), (0, two), (one, one), (0, 0), (two, 0)]
    results = [one, two, two if operation == "sum" else one, 0, two]
    inputs = [{"i0": a, "i1": b} for a, b in pairs] + [{}] * registers
    spec = SwitchSpec(ports=2, lanes=1, format=form, operation=operation, adder_registers=registers)
    assert trace(Reducer(spec=spec), inputs, ["o"])[registers:] == results


SIGN = 1 << 15
SMALLEST, INFINITY, NAN = 1, 0x7C00, 0x7E00


@pytest.mark.parametrize(
    ("one", "two", "total"),
    [
        (ONE, ONE | SIGN, 0),
        (ONE | SIGN, ONE, 0),
        (SMALLEST | SIGN, SMALLEST, 0),
        (SIGN, 0, 0),
        (SIGN, SIGN, SIGN),
        (TWO | SIGN, ONE, ONE | SIGN),
        (INFINITY | SIGN, INFINITY, NAN),
    ],
)
def test_numbers_that_cancel_give_plus_zero(one: int, two: int, total: int) -> None:
    """IEEE 754-2019, clause 6.3, whichever operand is negative; infinities give a NaN."""
    unit = reduction_unit(FP16, "sum", "wrap", 0)
    assert trace(unit, [{"i0": one, "i1": two}], ["o"], together=3) == [total]


@UNITS
def test_reset_clears_nothing(form: str, operation: str, one: int, two: int) -> None:
    unit = reduction_unit(FORMATS[form], operation, "wrap", 1)
    assert not unit.resettable
    reduce = {"reduce": 1} if unit.inside else {}
    result = {("fp16", "sum"): TWO, ("int8", "sum"): 2}.get((form, operation), one)
    inputs = [{"i0": one, "i1": one, "together": 3}, {"rst": 1, **reduce}]
    assert trace(unit, inputs, ["o"])[1] == result


@pytest.mark.parametrize("together", range(3))
@UNITS
def test_operands_pass_unless_they_are_together(
    form: str, operation: str, one: int, two: int, together: int
) -> None:
    unit = reduction_unit(FORMATS[form], operation, "wrap", 0)
    assert trace(unit, [{"i0": one, "i1": two}], ["o", "second"], together=together) == [(one, two)]
