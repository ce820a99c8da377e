"""Base of the arithmetic of one lane, and the placement of its pipeline registers."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.formats.number_format import NumberFormat
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.unit import Unit

from .passing import Passing, Places, held

__all__ = ["LaneUnit", "Step"]

MAXIMUM_REGISTERS = 8

Step = Callable[[Module, Any, Value], Any]
"""Part of a datapath: takes the signals of the previous part and whether operands are reduced;
returns its own signals."""


class LaneUnit(Unit):
    """Reduce two numbers to one, or pass both; base class of the lane units.

    A subclass gives its ``steps``, the parts of its datapath in order, each with a short name.
    Registers go behind steps, never inside one. ``cuts[n]`` names the steps that have a register
    behind them if there are n in all; with more registers than the table has rows, the last row
    holds and what is left goes behind the output, where synthesis can retime it.

    Operands that pass unreduced wait in the same registers. A step may leave them in its own
    signals when there is nothing to reduce, and then declares so by ``carried``, which costs less
    than a multiplexer.

    Steps see the numbers without the padding of their storage words. Padding passes with operands
    that are not reduced, and is zero in results.

    Parameters
    ----------
    number_format : NumberFormat
        Format of operands and result.
    operation : str
        The operation of the unit, as its name says.
    registers : int
        Pipeline registers from operands to result, 0 to 8.

    Attributes
    ----------
    inside, behind : int
        Registers between steps, and behind the output.

    Timing
    ------
    Latency : ``registers`` cycles, from operands to result.
    Throughput : one result per cycle.
    Paths : without registers from all inputs to all outputs, else from ``reduce`` to ``o`` alone,
        unless a register is behind the output.
    Reset : nothing is cleared.
    """

    i0 = member(In, lambda u: u.number_format.storage_bits)
    """Storage word of the first operand, as all other members of the same width."""
    i1 = member(In, lambda u: u.number_format.storage_bits)
    """Storage word of the second operand."""
    together = member(In, 2)
    """Both high if the operands are reduced; two bits, so that a gate of the lane drives its own
    logic."""
    reduce = member(In, lambda u: u.inside, when=lambda u: u.inside)
    """The same for earlier operands: bit n belongs to the operands of n + 1 cycles ago."""
    o = member(Out, lambda u: u.number_format.storage_bits)
    """Bits of the result if the operands are reduced, else ``i0``."""
    second = member(Out, lambda u: u.number_format.storage_bits)
    """``i1`` if the operands are not reduced."""

    cuts: ClassVar[Sequence[Sequence[str]]]
    form: ClassVar[type[NumberFormat]]
    """Kind of number format that the unit supports."""

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
        *early, _ = (name for name, _ in self.steps())
        row = self.cuts[min(registers, len(self.cuts) - 1)]
        self.cut_behind = tuple(name for name in early if name in row)
        self.inside = len(self.cut_behind)
        self.behind = registers - self.inside
        super().__init__()

    def steps(self) -> Sequence[tuple[str, Step]]:
        """Return the names and functions of the datapath; the last returns the bits of ``o``.

        The first takes the operands as a pair.
        """
        raise NotImplementedError

    def carried(self, step: str, before: Places) -> Places:
        """Return which operand bits ``step`` passes on unchanged in its signals.

        Bits count from those of ``i0`` on through those of ``i1``. ``before`` is where they come
        in: for the first step ``i0`` and ``i1``, and a signal alone has an empty name.
        """
        return {}

    def build(self, m: Module) -> None:
        width, place = self.number_format.storage_bits, self.number_format.place
        signals: Any = (self.i0[place], self.i1[place])
        places: Places = {"i0": range(width)[place], "i1": range(width, 2 * width)[place]}
        reduces = [wire(m, "reduces", self.together.all())]
        reduces.extend(self.reduce if self.inside else ())
        bits, stage = Cat(self.i0, self.i1), 0
        for name, step in self.steps():
            reduce = reduces[stage]
            signals, places = step(m, signals, reduce), self.carried(name, places)
            if name in self.cut_behind:
                signals, places, bits = held(m, name, signals, places, Passing(bits, reduce))
                stage += 1
        o, second = signals, bits[width:]
        if list(places.get("", ())) != list(range(width)[place]):
            o = Mux(reduces[stage], o, bits[place])
        if len(o) < width:
            passed = bits[:width] & (~reduces[stage]).replicate(width)
            o = Cat(passed[: place.start], o, passed[place.stop :])
        for cycle in range(self.behind):
            registers = [
                Signal(width, name=f"{name}_q{cycle}", reset_less=True) for name in ("o", "own")
            ]
            m.d.sync += [registers[0].eq(o), registers[1].eq(second)]
            o, second = registers
        m.d.comb += [self.o.eq(o), self.second.eq(second)]
