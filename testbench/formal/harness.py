"""Harness of a property: a unit with free inputs, and what is assumed, checked and reached."""

from typing import Any

from amaranth.asserts import Initial
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Module, ResetSignal, Shape, ShapeLike, Signal, ValueLike
from amaranth.hdl import Value as AnyValue
from amaranth.lib.wiring import In

from fred_hw.unit import Unit
from testbench.faults.fault import Fault

__all__ = ["Harness"]


class Harness:
    """Surround a unit with free inputs and collect the conditions of a property.

    Each input of the unit takes any value in any cycle, unless an assumption restricts it. All
    registers and memories begin with any value; ``rst`` is high in the first cycle, and may be high
    in any other. Conditions count from the second cycle on.

    Parameters
    ----------
    unit : Unit
        Unit under proof.
    mutant : Fault, optional
        Breaks the unit.

    Attributes
    ----------
    m : Module
        Module for the registers of the property; they are reset like the unit.
    unit : Unit
        Unit under proof.
    ports : interface
        Its ports, or those of the mutant.
    checks, covers : dict of str to Signal
        Conditions by name.

    Raises
    ------
    ValueError
        Two inputs, shown values, checks or covers have one name; from the methods.
    """

    def __init__(self, unit: Unit, mutant: Fault | None = None) -> None:
        self.m = m = Module()
        self.unit = m.submodules.unit = unit
        self.ports: Any = unit.signature.create(path=("ports",))
        self._inputs: list[Signal] = []
        self._outputs: list[Signal] = []
        self._assumed: list[Signal] = []
        self._names: set[str] = set()
        self.checks: dict[str, Signal] = {}
        self.covers: dict[str, Signal] = {}
        inner, outer = unit.signature.flatten(unit), unit.signature.flatten(self.ports)
        for (path, member, theirs), (_, _, mine) in zip(inner, outer, strict=True):
            signal = AnyValue.cast(mine)
            signal.name = self._new("_".join(map(str, path)))
            if member.flow == In:
                self._inputs.append(signal)
                m.d.comb += theirs.eq(mine)
            else:
                self._outputs.append(signal)
                m.d.comb += mine.eq(theirs)
        if mutant:
            mutant.disturb(m, unit, self.ports)

    def _new(self, name: str) -> str:
        """Return a name that no input, shown value, check or cover has yet."""
        if name in self._names:
            raise ValueError(f"name of a signal of a harness must be new, not {name!r}")
        self._names.add(name)
        return name

    def free(self, shape: ShapeLike, name: str) -> Any:
        """Return a signal with any value in each cycle."""
        signal = Signal(shape, name=self._new(name))
        self._inputs.append(AnyValue.cast(signal))
        return signal

    def constant(self, shape: ShapeLike, name: str) -> Any:
        """Return a signal with any value, which never changes."""
        signal = self.free(shape, name)
        width = Shape.cast(shape).width
        before = Signal(width, name=f"{name}_before", reset_less=True)
        self.m.d.sync += before.eq(signal)
        self.assume(AnyValue.cast(signal).as_unsigned() == before)
        return signal

    def delayed(self, value: ValueLike, cycles: int, *, reset: bool = False) -> Any:
        """Return a value of some cycles ago; with ``reset`` it is 0 after a reset."""
        held = AnyValue.cast(value)
        for _ in range(cycles):
            register = Signal(len(held), name="late", reset_less=not reset)
            self.m.d.sync += register.eq(held)
            held = register
        return held

    def show(self, value: ValueLike, name: str) -> None:
        """Add a value to the table of a counterexample."""
        value = AnyValue.cast(value)
        signal = Signal(len(value), name=self._new(name))
        self.m.d.comb += signal.eq(value)
        self._outputs.append(signal)

    def assume(self, condition: ValueLike) -> None:
        """Restrict inputs: ``condition`` holds in each cycle from the second on."""
        signal = Signal(init=1, name=f"assumed_{len(self._assumed)}")
        self.m.d.comb += signal.eq(condition)
        self._assumed.append(signal)

    def check(self, name: str, condition: ValueLike) -> None:
        """Add a condition to prove; inside ``m.If`` only where that holds."""
        self.checks[name] = signal = Signal(init=1, name=self._new(f"check_{name}"))
        self.m.d.comb += signal.eq(condition)

    def cover(self, name: str, condition: ValueLike) -> None:
        """Add a condition that must be reachable under the assumptions."""
        self.covers[name] = signal = Signal(name=self._new(f"cover_{name}"))
        self.m.d.comb += signal.eq(condition)

    def netlist(self, cover: str | None = None) -> str:
        """Return the netlist as RTLIL; it adds statements to ``m``, so it is made once.

        With the name of a cover the netlist asserts that the cover is never reached.
        """
        m, first = self.m, Initial()
        m.d.comb += Assume(~first | ResetSignal())
        m.d.comb += [Assume(first | signal) for signal in self._assumed]
        if cover:
            bad = {cover: self.covers[cover]}
        else:
            bad = {name: ~signal for name, signal in self.checks.items()}
        seen = []
        for name, condition in bad.items():
            signal = Signal(name=f"bad_{name}")
            m.d.comb += [signal.eq(condition & ~first), Assert(~signal)]
            seen.append(signal)
        return rtlil.convert(m, ports=[*self._inputs, *self._outputs, *seen], emit_src=False)
