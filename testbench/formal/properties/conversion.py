"""Properties of the conversion between number formats."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from fred_hw.arith.narrow import Narrow, narrowing_cycles
from fred_hw.arith.widen import Widen, widening_cycles
from fred_hw.formats.fp16 import FP16
from fred_hw.formats.fp32 import FP32
from fred_hw.member import member
from fred_hw.unit import Unit, place
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.property import Bound, prove

__all__: list[str] = []

_LATENCY = narrowing_cycles(FP32, FP16)
_BOTH = widening_cycles(FP16, FP32) + _LATENCY
_OMITS = "other formats, whose conversions are simulated"


class _ThereAndBack(Unit):
    """An FP16 number, widened to FP32 and narrowed again."""

    i = member(In, FP16.bits)
    """Number."""
    o = member(Out, FP16.bits)
    """The same number."""

    def __init__(self) -> None:
        self.unit_name, self.resettable = "fp16_to_fp32_and_back", False
        super().__init__()

    def build(self, m: Module) -> None:
        widen = place(m, "widen", Widen(narrow=FP16, wide=FP32))
        narrow = place(m, "narrow", Narrow(wide=FP32, narrow=FP16))
        m.d.comb += [widen.i.eq(self.i), narrow.i.eq(widen.o), self.o.eq(narrow.o)]


def _bound(latency: int) -> Bound:
    return Bound(
        latency + 2,
        f"the pipeline has latency {latency} and no feedback; 2 more cycles allow for a reset",
    )


@broken(_ThereAndBack, {})
def _quiet(m: Module, sound: Any, ports: Any) -> None:
    """A NaN becomes a quiet one."""
    nan = sound.o[FP16.fraction_bits : -1].all() & sound.o[: FP16.fraction_bits].any()
    quiet = FP16.fraction_bits - 1
    m.d.comb += ports.o[quiet].eq(sound.o[quiet] | nan)


@prove(
    _ThereAndBack,
    shows="An FP16 number that is widened to FP32 and narrowed again is the same, bit by bit. "
    "Numbers include subnormals, zeros of both signs, infinities and NaNs.",
    omits=_OMITS,
    mutant=_quiet,
    bound=_bound(_BOTH),
)
def fp16_comes_back_from_fp32(c: Harness, u: Any) -> None:
    late, given = c.delayed(Const(1), _BOTH, reset=True), c.delayed(u.i, _BOTH)
    c.check("same", ~late | (u.o == given))
    exponent, fraction = given[FP16.fraction_bits : -1], given[: FP16.fraction_bits]
    c.cover("subnormal", late & (exponent == 0) & fraction.any())
    c.cover("nan", late & exponent.all() & fraction.any())


@broken(Narrow, {})
def _tie_away(m: Module, sound: Any, ports: Any) -> None:
    """The lowest bit of a small result is 1."""
    m.d.comb += ports.o[0].eq(sound.o[0] | (sound.o[1:-1] == 1))


@prove(
    lambda: Narrow(wide=FP32, narrow=FP16),
    shows="Any FP32 number is rounded to the nearest FP16 number, ties to even, and beyond the "
    "range to an infinity. A NaN stays a NaN. Signs are kept.",
    omits=_OMITS,
    mutant=_tie_away,
    bound=_bound(_LATENCY),
)
def fp32_to_fp16_is_nearest(c: Harness, u: Any) -> None:
    """Compare with the points halfway to both neighbours of the result, which are FP32 numbers."""
    late, given = c.delayed(Const(1), _LATENCY, reset=True), c.delayed(u.i, _LATENCY)
    size, result = given[: FP32.bits - 1], u.o[: FP16.bits - 1]
    nan = size >= FP32.first_nan
    above, below = _halfway(result), _halfway((result - 1)[: len(result)])
    even = ~result[0]
    beyond = result == FP16.infinity
    c.check("sign", ~late | (u.o[-1] == given[-1]))
    c.check("nan", ~late | (nan == (result > FP16.infinity)))
    numbers = late & ~nan
    c.check("above", ~numbers | beyond | (size < above) | (even & (size == above)))
    c.check("below", ~numbers | (result == 0) | (size > below) | (even & (size == below)))
    c.cover("tie", numbers & (size == above) & result.any())
    c.cover("beyond", numbers & beyond & (size < FP32.infinity))


def _halfway(magnitude: Value) -> Value:
    """Return the FP32 number halfway from a finite FP16 number to the next larger one."""
    below = FP32.fraction_bits - FP16.fraction_bits
    fraction, exponent = magnitude[: FP16.fraction_bits], magnitude[FP16.fraction_bits :]
    moved = (FP32.bias - FP16.bias) << FP32.fraction_bits
    point = (Cat(Const(1 << below - 1, below), magnitude) + moved)[: FP32.bits - 1]
    # Twice a subnormal and 1, in units of half of the smallest subnormal number.
    odd = Cat(Const(1, 1), fraction)
    tiny: Value = Const(0)
    for index in range(len(odd)):
        leading = FP32.bias + 1 - FP16.bias - FP16.fraction_bits - 1 + index
        rest = odd[:index] << FP32.fraction_bits - index
        tiny = Mux(odd[index], (leading << FP32.fraction_bits) + rest, tiny)
    return Mux(exponent == 0, tiny, point)
