"""The interface of a level of generation, and the registry of all levels."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fred_hw.control.registers import RegisterMap
from fred_hw.errors import InputError
from fred_hw.files import FileModel
from fred_hw.registry import Registry
from fred_hw.unit import Unit

from .emitter import VerilogEmitter
from .ports import Port, module_ports

__all__ = [
    "LEVELS",
    "MAX_INPUT_BITS",
    "Built",
    "Level",
    "UnitLevel",
    "check_inputs",
    "unit_levels",
]

S = TypeVar("S", bound=FileModel)

MAX_INPUT_BITS = 1 << 16
"""Bits of all inputs of a module at most: Amaranth 0.5 numbers them in 16 bits."""


@dataclass(frozen=True)
class Built:
    """What a level makes of a specification.

    Parameters
    ----------
    verilog : str
        All modules, the top one last.
    ports : list of Port
        Those of the top module.
    modules : dict of str to int
        How often each distinct module stands in the hierarchy.
    """

    verilog: str
    ports: list[Port]
    modules: dict[str, int]


class Level(ABC, Generic[S]):
    """One thing that can be generated of a specification.

    Attributes
    ----------
    model : type
        Specification that it reads.
    load : Callable
        Reads one, from the name of a file or preset and changes by field name.
    text : str
        What it is, for the help of commands.
    description : str
        What its FuseSoC core says that it is.
    registers : Callable or None
        From a specification to the registers that software sees; None if there are none, or those
        of many units.
    """

    model: type[S]
    load: Callable[..., S]
    text: str
    description: str
    registers: Callable[[S], RegisterMap] | None = None

    @abstractmethod
    def name(self, spec: S) -> str:
        """Return the name of the top module and of all files, known before it is generated."""

    @abstractmethod
    def build(self, spec: S, emitter: VerilogEmitter) -> Built:
        """Return the hardware, as the emitter writes it."""

    @abstractmethod
    def latency_cycles(self, spec: S) -> int:
        """Return the cycles between two events, which the class names."""

    @abstractmethod
    def manifest(self, spec: S) -> dict[str, Any]:
        """Return the manifest keys of this level, JSON-friendly."""

    def said(self, spec: S) -> dict[str, Any]:
        """Return the specification as its manifest has it."""
        return spec.model_dump()

    def check(self, spec: S, source: str) -> None:
        """Refuse a specification without such a level.

        Raises
        ------
        InputError
            There is none; names ``source`` and field.
        """


def check_inputs(unit: Unit, source: str, field: str = "lanes") -> None:
    """Refuse a unit with more bits of inputs than Amaranth writes.

    Raises
    ------
    InputError
        There are more than ``MAX_INPUT_BITS``; names ``source`` and ``field``.
    """
    bits = sum(width for _, way, width in module_ports(unit) if way == "input")
    if bits > MAX_INPUT_BITS:
        message = f"must make inputs of at most {MAX_INPUT_BITS} bits in all, not of {bits}"
        raise InputError(source, field, message)


class UnitLevel(Level[S]):
    """A level whose top module is one unit: `fred synth` maps it."""

    @abstractmethod
    def top(self, spec: S) -> Unit:
        """Return the unit."""

    def check(self, spec: S, source: str) -> None:
        check_inputs(self.top(spec), source)

    def name(self, spec: S) -> str:
        return self.top(spec).unit_name

    def build(self, spec: S, emitter: VerilogEmitter) -> Built:
        top = self.top(spec)
        emitter.add(top)
        return Built(emitter.verilog(), module_ports(top), emitter.count(top.unit_name))


LEVELS: Registry[Level[Any]] = Registry("gen.levels", "level")
"""All of them by name: interconnect, switch and what else ``gen/levels/`` has."""


def unit_levels() -> list[str]:
    """Return the names of those whose top module is one unit."""
    return [name for name, one in LEVELS.items() if isinstance(one, UnitLevel)]
