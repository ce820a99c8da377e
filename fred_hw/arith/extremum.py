"""Maximum and minimum of two numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from amaranth.hdl import Const, Module, Mux, Value

from fred_hw.checks import check_choice
from fred_hw.formats.number_format import FloatFormat, IntFormat, NumberFormat
from fred_hw.gates.wire import wire

from .lane_unit import LaneUnit, Step
from .passing import Places

__all__ = ["EXTREMA", "FloatExtremum", "IntExtremum"]

EXTREMA = ("max", "min")


@dataclass(frozen=True)
class Ranked:
    """The operands, with the selection of the result."""

    first: Value
    second: Value
    take_second: Value


@dataclass(frozen=True)
class RankedFloats(Ranked):
    """The operands, the selection of the result, and whether both are NaN."""

    nan: Value


class _Extremum(LaneUnit):
    """Common base of float and integer extremum: compare, then select."""

    cuts: ClassVar[Sequence[Sequence[str]]] = ((), ("select",), ("compare", "select"))

    def __init__(self, *, number_format: NumberFormat, operation: str, registers: int) -> None:
        self.operation = check_choice(f"{type(self).__name__} operation", operation, EXTREMA)
        super().__init__(number_format=number_format, operation=operation, registers=registers)

    def steps(self) -> Sequence[tuple[str, Step]]:
        return (("compare", self._compare), ("select", self._select))

    def carried(self, step: str, before: Places) -> Places:
        """Return the first operand when nothing is compared.

        Padding in the registers of the selection makes the selection meaningless.
        """
        if step == "compare":
            return {"first": before["i0"], "second": before["i1"]}
        selects = [*before.get("take_second", ()), *before.get("nan", ())]
        return {"": before["first"]} if all(bit is None for bit in selects) else {}

    def _compare(self, m: Module, operands: tuple[Value, Value], reduce: Value) -> Ranked:
        raise NotImplementedError

    def _select(self, m: Module, ranked: Ranked, reduce: Value) -> Value:
        return wire(m, "taken", Mux(ranked.take_second, ranked.second, ranked.first))


class FloatExtremum(_Extremum):
    """Return the larger or the smaller of two floating-point numbers.

    maximumNumber and minimumNumber of IEEE 754-2019, clause 9.6: a NaN, quiet or signalling,
    loses against a number, -0 is less than +0, and of two NaNs comes
    ``number_format.canonical_nan``. No flags.

    Parameters
    ----------
    number_format : FloatFormat
        Format of operands and result.
    operation : str
        "max" or "min".
    registers : int
        Pipeline registers, 0 to 8: the first behind the result, the second behind the comparison.

    Timing
    ------
    Latency : ``registers`` cycles.
    Throughput : one result per cycle.
    Paths : as of ``LaneUnit``.
    Reset : nothing is cleared.
    """

    form = FloatFormat
    number_format: FloatFormat

    def _compare(self, m: Module, operands: tuple[Value, Value], reduce: Value) -> RankedFloats:
        """Compare encodings as integers, with the order reversed for negative numbers."""
        first, second = operands
        nan0, nan1 = (wire(m, f"nan{k}", self._is_nan(one[:-1])) for k, one in enumerate(operands))
        below = wire(m, "magnitude_below", first[:-1] < second[:-1])
        equal = wire(m, "magnitudes_equal", first[:-1] == second[:-1])
        negative = first[-1]
        less = wire(
            m, "less", Mux(negative ^ second[-1], negative, Mux(negative, ~below & ~equal, below))
        )
        better = less if self.operation == "max" else ~less
        take_second = wire(m, "take_second", (nan0 | (~nan1 & better)) & reduce)
        return RankedFloats(first, second, take_second, wire(m, "nan", nan0 & nan1 & reduce))

    def _is_nan(self, magnitude: Value) -> Value:
        last_number = self.number_format.first_nan - 1
        return magnitude > last_number if self.number_format.has_nan else Const(0, 1)

    def _select(self, m: Module, ranked: Ranked, reduce: Value) -> Value:
        assert isinstance(ranked, RankedFloats)
        taken = super()._select(m, ranked, reduce)
        if self.number_format.canonical_nan is None:
            return taken
        return wire(m, "result", Mux(ranked.nan, self.number_format.canonical_nan, taken))


class IntExtremum(_Extremum):
    """Return the larger or the smaller of two integers of a format.

    Parameters
    ----------
    number_format : IntFormat
        Format of operands and result.
    operation : str
        "max" or "min".
    registers : int
        Pipeline registers, 0 to 8: the first behind the result, the second behind the comparison.

    Timing
    ------
    Latency : ``registers`` cycles.
    Throughput : one result per cycle.
    Paths : as of ``LaneUnit``.
    Reset : nothing is cleared.
    """

    form = IntFormat
    number_format: IntFormat

    def _compare(self, m: Module, operands: tuple[Value, Value], reduce: Value) -> Ranked:
        first, second = operands
        a, b = (one.as_signed() if self.number_format.signed else one for one in operands)
        less = wire(m, "less", a < b)
        better = less if self.operation == "max" else ~less
        return Ranked(first, second, wire(m, "take_second", better & reduce))
