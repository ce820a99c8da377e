"""Contracts of the arithmetic units: refusals, names, latency, throughput."""

from collections.abc import Callable

import pytest
from amaranth.sim import Simulator

from fred_hw.arith.extremum import FloatExtremum, IntExtremum
from fred_hw.arith.float_add import FloatAdd
from fred_hw.arith.int_add import IntAdd
from fred_hw.datapath.reduction import reduction_unit
from fred_hw.formats.number_format import FORMATS
from fred_hw.unit import Unit

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
            "FloatAdd number_format must be a FloatFormat, not IntFormat(name='int8', width=8)",
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
            "operation must be one of sum, max, min, not 'mean'",
        ),
    ],
)
def test_bad_parameter_is_refused(
    make: Callable[[], Unit], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as refused:
        make()
    assert str(refused.value) == message


@pytest.mark.parametrize("registers", range(9))
@pytest.mark.parametrize(("form", "operation"), [("fp16", "sum"), ("int8", "sum"), ("fp16", "max")])
def test_results_come_after_as_many_cycles_as_registers(
    form: str, operation: str, registers: int
) -> None:
    unit = reduction_unit(FORMATS[form], operation, "wrap", registers)
    one, two = (0x3C00, 0x4000) if form == "fp16" else (1, 2)
    pairs = [(one, 0), (0, two), (one, one), (0, 0), (two, 0)]
    sums = [one, two, two, 0, two] if operation == "sum" else [one, two, one, 0, two]
    seen = []

    async def bench(ctx) -> None:
        for cycle in range(len(pairs) + registers):
            a, b = pairs[cycle] if cycle < len(pairs) else (0, 0)
            ctx.set(unit.i0, a)
            ctx.set(unit.i1, b)
            seen.append(ctx.get(unit.o))
            if registers:
                await ctx.tick()
            else:
                await ctx.delay(1e-9)

    simulator = Simulator(unit)
    if registers:
        simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen[registers:] == sums
    assert unit.unit_name.endswith(f"_a{registers}")
