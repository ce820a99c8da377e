"""Addition of two integers."""

from collections.abc import Sequence
from typing import ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Value

from fred_hw.checks import check_choice
from fred_hw.formats.number_format import OVERFLOWS, IntFormat
from fred_hw.gates.wire import wire

from .lane_unit import LaneUnit, Step
from .passing import Places

__all__ = ["IntAdd"]


class IntAdd(LaneUnit):
    """Add two integers of a format, saturating or wrapping beyond its range.

    Saturating sums of several numbers depend on the order of addition; wrapping ones do not.

    Parameters
    ----------
    number_format : IntFormat
        Format of operands and result.
    overflow : str
        "saturate" gives the nearest number of the format, "wrap" the low bits of the sum.
    registers : int
        Pipeline registers, 0 to 8: the first behind the addition, the second behind the result.

    Timing
    ------
    Latency : ``registers`` cycles.
    Throughput : one sum per cycle.
    Paths : as of ``LaneUnit``.
    Reset : nothing is cleared.
    """

    form = IntFormat
    number_format: IntFormat

    cuts: ClassVar[Sequence[Sequence[str]]] = ((), ("add",), ("add", "limit"))

    def __init__(self, *, number_format: IntFormat, overflow: str, registers: int) -> None:
        self.overflow = check_choice("IntAdd overflow", overflow, OVERFLOWS)
        super().__init__(
            number_format=number_format, operation=f"add_{overflow}", registers=registers
        )

    def steps(self) -> Sequence[tuple[str, Step]]:
        return (("add", self._add), ("limit", self._limit))

    def carried(self, step: str, before: Places) -> Places:
        """Return operands that pass without a limit, if a register allows it."""
        return {"": before[""][: self.number_format.bits]} if "" in before else {}

    def _add(self, m: Module, operands: tuple[Value, Value], reduce: Value) -> Value:
        """Return the sum, with an extra bit if the limit needs it."""
        more = int(self.overflow == "saturate")
        ahead = [
            operand[-1].replicate(more) if self.number_format.signed else Const(0, more)
            for operand in operands
        ]
        a, b = (Cat(*both) for both in zip(operands, ahead, strict=True))
        return wire(m, "total", a + b, width=self.number_format.bits + more)

    def _limit(self, m: Module, total: Value, reduce: Value) -> Value:
        """Return the sum, or the end of the range that was exceeded.

        With a sign its two top bits differ then, without one the top bit is a carry.
        """
        if self.overflow == "wrap":
            return total
        width, signed = self.number_format.bits, self.number_format.signed
        passed = wire(m, "passed", (total[-1] ^ total[-2] if signed else total[-1]) & reduce)
        lowest = 1 << (width - 1)
        end = Mux(total[-1], lowest, lowest - 1) if signed else (1 << width) - 1
        limit = wire(m, "range_end", end, width=width)
        return wire(m, "limited", Mux(passed, limit, total[:-1]))
