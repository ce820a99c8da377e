"""Base of the arithmetic of one lane, and the placement of its pipeline registers."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.formats.number_format import NumberFormat
from fred_hw.unit import Unit

__all__ = ["LaneUnit", "Step", "registered", "wire"]

MAXIMUM_REGISTERS = 8

Step = Callable[[Module, Any], Any]
"""Part of a datapath: takes the signals of the part before and returns those of its own."""


def wire(m: Module, name: str, value: Value, *, width: int | None = None) -> Signal:
    """Return a named signal that is always ``value``, cut to ``width`` bits if given."""
    signal = Signal(len(value) if width is None else width, name=name)
    m.d.comb += signal.eq(value)
    return signal


def registered(m: Module, signals: Any, name: str) -> Any:
    """Return ``signals``, a signal or a dataclass of signals, as of the cycle before.

    The registers are named after ``name`` and have no reset: nothing is lost that a valid bit
    elsewhere would not tell.
    """
    if is_dataclass(signals) and not isinstance(signals, type):
        return replace(
            signals,
            **{
                field.name: registered(m, getattr(signals, field.name), f"{name}_{field.name}")
                for field in fields(signals)
            },
        )
    register = Signal(len(signals), name=name, reset_less=True)
    m.d.sync += register.eq(signals)
    return register


class LaneUnit(Unit):
    """Combine two numbers into one; the base class of what reduces a lane.

    A subclass gives its ``steps``, the parts of its datapath in order, each with a short name.
    Registers go behind steps, never inside one. ``cuts[n]`` names the steps that have a register
    behind them if there are n in all; with more registers than the table has rows, the last row
    holds and what is left goes behind the output, where synthesis can retime it.

    Parameters
    ----------
    number_format : NumberFormat
        Format of operands and result.
    operation : str
        What the unit does, as its name says it.
    registers : int
        Pipeline registers from operands to result, 0 to 8.

    Members
    -------
    i0, i1 : In(width)
        Bits of the operands.
    o : Out(width)
        Bits of the result.

    Timing
    ------
    Latency : ``registers`` cycles, from operands to result.
    Throughput : one result per cycle.
    Paths : ``i0`` and ``i1`` to ``o`` without registers, else none.
    Reset : clears nothing; results of operands from before a reset still come out.
    """

    i0: Signal
    i1: Signal
    o: Signal

    cuts: ClassVar[Sequence[Sequence[str]]]
    form: ClassVar[type[NumberFormat]]
    """Kind of number format that it is made for."""

    def __init__(self, *, number_format: NumberFormat, operation: str, registers: int) -> None:
        unit, form = type(self).__name__, self.form.__name__
        if not isinstance(number_format, self.form):
            article = "an" if form[0] in "AEIOU" else "a"
            raise TypeError(f"{unit} number_format must be {article} {form}, not {number_format!r}")
        self.registers = check_int(
            f"{unit} registers", registers, minimum=0, maximum=MAXIMUM_REGISTERS
        )
        self.number_format = number_format
        self.unit_name = f"{number_format.name}_{operation}_a{registers}"
        self.clocked, self.resettable = registers > 0, False
        width = number_format.width
        super().__init__({"i0": In(width), "i1": In(width), "o": Out(width)})

    def steps(self) -> Sequence[tuple[str, Step]]:
        """Return the names and functions of the datapath; the last returns the bits of ``o``.

        The first takes the operands as a pair.
        """
        raise NotImplementedError

    def build(self, platform: object) -> Module:
        m = Module()
        cuts = self.cuts[min(self.registers, len(self.cuts) - 1)]
        signals: Any = (self.i0, self.i1)
        for name, step in self.steps():
            signals = step(m, signals)
            if name in cuts:
                signals = registered(m, signals, f"{name}_q")
        for cycle in range(self.registers - len(cuts)):
            signals = registered(m, signals, f"result_q{cycle + 1}")
        m.d.comb += self.o.eq(signals)
        return m
