"""Base of the arithmetic of one lane, and the placement of its pipeline registers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import Any, ClassVar

from amaranth.hdl import Cat, Fragment, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.formats.number_format import NumberFormat
from fred_hw.gates.wire import wire
from fred_hw.unit import Unit

__all__ = ["LaneUnit", "Step"]

MAXIMUM_REGISTERS = 8

Step = Callable[[Module, Any], Any]
"""Part of a datapath: takes the signals of the part before and returns those of its own."""


def _leaves(signals: Any, path: str = "") -> Iterator[tuple[str, Value]]:
    """Give each signal of a dataclass with its name, or a signal alone."""
    if not is_dataclass(signals):
        yield path, signals
        return
    for field in fields(signals):
        inner = f"{path}_{field.name}" if path else field.name
        yield from _leaves(getattr(signals, field.name), inner)


def _replaced(signals: Any, values: Iterator[Value]) -> Any:
    """Return a dataclass, or a signal alone, with other signals in the same order."""
    if not is_dataclass(signals) or isinstance(signals, type):
        return next(values)
    inner = {one.name: _replaced(getattr(signals, one.name), values) for one in fields(signals)}
    return replace(signals, **inner)


class LaneUnit(Unit):
    """Combine two numbers into one; the base class of what reduces a lane.

    A subclass gives its ``steps``, the parts of its datapath in order, each with a short name.
    Registers go behind steps, never inside one. ``cuts[n]`` names the steps that have a register
    behind them if there are n in all; with more registers than the table has rows, the last row
    holds and what is left goes behind the output, where synthesis can retime it.

    The registers themselves are those of :class:`fred_hw.datapath.reducer.Reducer`, which has other
    use for them when there is nothing to reduce.

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
    into_0, into_1, ... : Out(leaves[0]), Out(leaves[1]), ...
        What the registers inside take, those of the first stage first; ``into`` is all of them. A
        port each, as parts of one port that are made of each other look like a loop to Verilator.
    held : In(sum(inside))
        What they hold.
    o : Out(width)
        Bits of the result.

    Attributes
    ----------
    leaves : tuple of int
        Bits of each value that goes through a register inside.
    inside : tuple of int
        Bits of all of them, for each stage.
    behind : int
        Registers behind the output.

    Timing
    ------
    Latency : none; with its registers ``registers`` cycles, from operands to result.
    Throughput : one result per cycle.
    Paths : from operands or a register to the next register, or to ``o``.
    Reset : none.
    """

    i0: Signal
    i1: Signal
    held: Signal
    o: Signal

    cuts: ClassVar[Sequence[Sequence[str]]]
    form: ClassVar[type[NumberFormat]]
    """Kind of number format that it is made for."""
    _sizes: ClassVar[dict[tuple[type[Unit], str], tuple[tuple[int, ...], ...]]] = {}

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
        self.clocked = self.resettable = False
        key = type(self), self.unit_name
        if key not in self._sizes:
            self._sizes[key] = self._measured()
        self.inside = tuple(map(sum, self._sizes[key]))
        self.leaves = tuple(chain.from_iterable(self._sizes[key]))
        self.behind = registers - len(self.inside)
        width = number_format.width
        inside = {f"into_{k}": Out(bits) for k, bits in enumerate(self.leaves)}
        if inside:
            inside["held"] = In(sum(self.leaves))
        super().__init__({"i0": In(width), "i1": In(width), **inside, "o": Out(width)})

    @property
    def into(self) -> Value:
        """What all registers inside take, those of the first stage in the low bits."""
        return Cat(getattr(self, f"into_{k}") for k in range(len(self.leaves)))

    def steps(self) -> Sequence[tuple[str, Step]]:
        """Return the names and functions of the datapath; the last returns the bits of ``o``.

        The first takes the operands as a pair.
        """
        raise NotImplementedError

    def _measured(self) -> tuple[tuple[int, ...], ...]:
        """Return the bits of each value at each cut: build the datapath, and throw it away."""
        m, width = Module(), self.number_format.width
        sizes: list[tuple[int, ...]] = []

        def cut(name: str, signals: Any) -> Any:
            sizes.append(tuple(len(value) for _, value in _leaves(signals)))
            return signals

        self._datapath(m, (Signal(width), Signal(width)), cut)
        Fragment.get(m, None)  # else it counts as forgotten
        return tuple(sizes)

    def _datapath(self, m: Module, operands: Any, cut: Callable[[str, Any], Any]) -> Value:
        """Return the result; what goes through a register inside becomes what ``cut`` returns."""
        steps = self.steps()
        cuts = self.cuts[min(self.registers, len(self.cuts) - 1)]
        signals = operands
        for name, step in steps:
            signals = step(m, signals)
            if name in cuts and name != steps[-1][0]:
                signals = cut(name, signals)
        return signals

    def build(self, platform: object) -> Module:
        m = Module()
        taken: list[Value] = []

        def cut(name: str, signals: Any) -> Any:
            held: list[Value] = []
            for path, value in _leaves(signals):
                start = sum(len(one) for one in taken)
                label = f"{name}_q_{path}" if path else f"{name}_q"
                held.append(wire(m, label, self.held[start : start + len(value)]))
                m.d.comb += getattr(self, f"into_{len(taken)}").eq(value)
                taken.append(value)
            return _replaced(signals, iter(held))

        m.d.comb += self.o.eq(self._datapath(m, (self.i0, self.i1), cut))
        return m
