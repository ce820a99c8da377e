"""Properties of adders: equivalence with exact sums."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Module, Value

from fred_hw.arith.float_add import FloatAdd
from fred_hw.arith.int_add import IntAdd
from fred_hw.formats.fp8_e4m3 import FP8_E4M3
from fred_hw.formats.fp8_e5m2 import FP8_E5M2
from fred_hw.formats.fp16 import FP16
from fred_hw.formats.integers import INT8
from fred_hw.formats.number_format import FloatFormat, IntFormat
from fred_hw.formats.uint8 import UINT8
from testbench.faults.fault import Fault, broken
from testbench.formal.harness import Harness
from testbench.formal.property import COMBINATIONAL, prove
from testbench.formal.sums import float_sum, int_sum

__all__: list[str] = []


_OMITS = "pipeline registers"


def _equals(c: Harness, u: Any, wanted: Value) -> None:
    adds = u.together.all()
    c.show(wanted, "wanted")
    c.check("sum", ~adds | (u.o == wanted))
    c.check("passed", adds | ((u.o == u.i0) & (u.second == u.i1)))
    c.cover("adds", adds & (u.i0 != 0) & (u.i1 != 0))


def _negative_operand(unit: type, form: FloatFormat | IntFormat) -> Fault:
    @broken(unit, {})
    def lowest_bit_lost(m: Module, sound: Any, ports: Any) -> None:
        """The lowest bit of a sum is 0 if both operands are negative."""
        both = ports.i0[form.bits - 1] & ports.i1[form.bits - 1] & ports.together.all()
        m.d.comb += ports.o[0].eq(sound.o[0] & ~both)

    return lowest_bit_lost


def _register(
    name: str, unit: Callable[[], Any], sum_of: Callable[[Module, Any], Value], **more: Any
) -> None:
    def conditions(c: Harness, u: Any) -> None:
        _equals(c, u, sum_of(c.m, u))

    conditions.__name__ = name
    prove(unit, bound=COMBINATIONAL, **more)(conditions)


for _form in (INT8, UINT8):
    for _overflow in ("saturate", "wrap"):
        _register(
            f"{_form.name}_sum_{_overflow}",
            lambda form=_form, overflow=_overflow: IntAdd(
                number_format=form, overflow=overflow, registers=0
            ),
            lambda m, u, form=_form, overflow=_overflow: int_sum(u.i0, u.i1, form, overflow),
            shows="The sum of any two operands is the exact sum, saturated or wrapped as "
            "configured. Operands that are not added pass unchanged.",
            omits=_OMITS,
            mutant=_negative_operand(IntAdd, _form),
        )
for _form, _fast in ((FP8_E4M3, True), (FP8_E5M2, False)):
    _register(
        f"{_form.name}_sum",
        lambda form=_form: FloatAdd(number_format=form, registers=0),
        lambda m, u, form=_form: float_sum(m, u.i0, u.i1, form),
        shows="The sum of any two operands is the exact sum, rounded once. Operands include "
        "subnormals, zeros of both signs, infinities and NaNs.",
        omits=_OMITS,
        mutant=_negative_operand(FloatAdd, _form),
        fast=_fast,
    )


_FRACTION = FP16.fraction_bits


@prove(
    lambda: FloatAdd(number_format=FP16, registers=0),
    shows="The sum of any two FP16 operands is the exact sum, rounded once. Operands include "
    "subnormals, zeros of both signs, infinities and NaNs.",
    omits=_OMITS,
    mutant=_negative_operand(FloatAdd, FP16),
    bound=COMBINATIONAL,
    fast=False,
    cases="exponents",
)
def fp16_sum(c: Harness, u: Any) -> None:
    _equals(c, u, float_sum(c.m, u.i0, u.i1, FP16))
    c.show(Cat(one[_FRACTION : FP16.bits - 1] for one in (u.i0, u.i1)), "exponents")
