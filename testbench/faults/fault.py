"""Faults selected at run time: one model holds the correct design and all faults."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from amaranth.hdl import Instance, Module, Signal
from amaranth.lib.wiring import In

from fred_hw.member import members
from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter

__all__ = ["Fault", "FaultyEmitter", "broken", "every_fault", "noticed_by"]

_NUMBER_BITS = 8
_SELECT = """
module fault_select(output reg [{high}:0] number);
  initial if (!$value$plusargs("fault=%d", number)) number = {chosen};
endmodule
"""


Disturb = Callable[[Module, Any, Any], None]


@dataclass(frozen=True, eq=False)
class Fault:
    """One way in which a unit can be broken.

    A fault only uses the ports of the unit, and is therefore independent of its implementation.

    Parameters
    ----------
    unit : type
        Class of the units with this fault.
    noticed : mapping of str to str
        By bench, the name of the test that must fail, or a part of its message; empty if any
        failure is accepted. The tests of a bench ask :func:`noticed_by` for its faults.
    disturb : callable
        Adds statements that change inputs or outputs of the sound unit; its docstring describes the
        fault. Its arguments are: the module for the statements, which hold while the fault is
        enabled, and take precedence over the plain wires; the sound unit, whose inputs may be
        driven and outputs read; and the unit that the design sees in its place, whose outputs may
        be driven and inputs read.
    """

    unit: type[Unit]
    noticed: Mapping[str, str]
    disturb: Disturb

    @property
    def __name__(self) -> str:
        """Name of the fault, also in the ids of tests parametrized with it."""
        return self.disturb.__name__


def broken(unit: type[Unit], noticed: Mapping[str, str]) -> Callable[[Disturb], Fault]:
    """Turn a function that disturbs a unit into a fault; see :class:`Fault`."""
    return partial(Fault, unit, noticed)


def noticed_by(bench: str) -> dict[Fault, str]:
    """Return the faults that a bench must detect, and the test that detects each."""
    return {fault: fault.noticed[bench] for fault in every_fault() if bench in fault.noticed}


def every_fault() -> dict[Fault, str]:
    """Return the faults of all modules of this folder, each with the name of its module."""
    package = __name__.rpartition(".")[0]
    return {
        fault: module.name
        for module in iter_modules([str(Path(__file__).parent)])
        for fault in vars(import_module(f"{package}.{module.name}")).values()
        if isinstance(fault, Fault)
    }


class _Breakable(Unit):
    """A correct unit, surrounded by wires that a selected fault disturbs."""

    ports = members(lambda u: dict(u.sound.signature.members))
    """The ports of the unit."""

    def __init__(self, sound: Unit, faults: Sequence[tuple[int, Fault]]) -> None:
        self.sound, self.faults = sound, faults
        self.unit_name, self.clocked, self.resettable = (
            sound.unit_name,
            sound.clocked,
            sound.resettable,
        )
        sound.unit_name = f"{sound.unit_name}_sound"
        super().__init__()

    def build(self, m: Module) -> None:
        m.submodules.sound = sound = self.sound
        number = Signal(_NUMBER_BITS)
        m.submodules.select = Instance("fault_select", ("o", "number", number))
        inner = sound.signature.flatten(sound)
        outer = self.signature.flatten(self)
        for (_, member, theirs), (_, _, mine) in zip(inner, outer, strict=True):
            m.d.comb += theirs.eq(mine) if member.flow == In else mine.eq(theirs)
        for place, fault in self.faults:
            with m.If(number == place):
                fault.disturb(m, sound, self)


class FaultyEmitter(VerilogEmitter):
    """Emitter of a design in which one of several faults is selected when simulation starts.

    Parameters
    ----------
    faults : collection of Fault
        Without any, and without a choice, the design is sound.
    chosen : Fault, optional
        The fault of simulations that choose none.
    """

    def __init__(self, faults: Collection[Fault], chosen: Fault | None = None) -> None:
        self.faults = tuple(faults)
        self._chosen = self.faults.index(chosen) + 1 if chosen else 0
        self._sound: list[tuple[Unit, str]] = []
        super().__init__(self._breakable)

    def plusargs(self, fault: Fault | None) -> list[str]:
        """Return the simulation arguments that select ``fault``."""
        return [f"+fault={self.faults.index(fault) + 1}"] if fault else []

    def verilog(self) -> str:
        select = _SELECT.format(high=_NUMBER_BITS - 1, chosen=self._chosen)
        return super().verilog() + (select if self.faults else "")

    def add(self, unit: Unit) -> None:
        super().add(unit)
        for sound, name in self._sound:
            if sound is unit:  # the unit had another name while it was emitted inside
                unit.unit_name = name

    def _breakable(self, unit: Unit) -> Unit:
        if any(unit is sound for sound, _ in self._sound):
            return unit
        numbered = enumerate(self.faults, start=1)
        mine = [(number, fault) for number, fault in numbered if isinstance(unit, fault.unit)]
        if not mine:
            return unit
        self._sound.append((unit, unit.unit_name))
        return _Breakable(unit, mine)
