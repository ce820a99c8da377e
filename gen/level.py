"""The interface of a generator level, and the registry of levels."""

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
"""Largest total width of a module's inputs; Amaranth 0.5 numbers the bits in 16 bits."""


@dataclass(frozen=True)
class Built:
    """Hardware that a level generates from a specification.

    Parameters
    ----------
    verilog : str
        All modules, the top one last.
    ports : list of Port
        Ports of the top module.
    modules : dict of str to int
        Number of instances of each distinct module in the hierarchy.
    """

    verilog: str
    ports: list[Port]
    modules: dict[str, int]


class Level(ABC, Generic[S]):
    """A kind of design that can be generated from a specification.

    Attributes
    ----------
    model : type
        Class of its specifications.
    load : Callable
        Reads a specification, from the name of a file or preset and changes by field name.
    text : str
        Description for the help of commands.
    description : str
        Description for its FuseSoC core.
    registers : Callable or None
        Returns the registers of a specification that software sees; None if there are none, or if
        they belong to many units.
    prunes : bool
        Whether parts that no configuration in ``only`` needs are left out.
    """

    model: type[S]
    load: Callable[..., S]
    text: str
    description: str
    registers: Callable[[S], RegisterMap] | None = None
    prunes: bool = False

    @abstractmethod
    def name(self, spec: S) -> str:
        """Return the name of the top module and of all files, without generating them."""

    @abstractmethod
    def build(self, spec: S, emitter: VerilogEmitter) -> Built:
        """Return the hardware in the form of the emitter."""

    @abstractmethod
    def latency_cycles(self, spec: S) -> int:
        """Return the latency between two events that the class defines [cycles]."""

    @abstractmethod
    def manifest(self, spec: S) -> dict[str, Any]:
        """Return the manifest keys of this level as JSON values."""

    def said(self, spec: S) -> dict[str, Any]:
        """Return the specification in the form of the manifest."""
        return spec.model_dump()

    def check(self, spec: S, source: str) -> None:
        """Fail if the level cannot be generated from a specification.

        Raises
        ------
        InputError
            The level cannot be generated; names ``source`` and field.
        """
        if getattr(spec, "only", None) is not None and not self.prunes:
            raise InputError(source, "only", f"must be left out at the level of {self.text}")


def check_inputs(unit: Unit, source: str, field: str = "lanes") -> None:
    """Fail if a unit has more input bits than Amaranth can write.

    Raises
    ------
    InputError
        There are more than ``MAX_INPUT_BITS``; names ``source`` and ``field``.
    """
    bits = sum(width for _, direction, width in module_ports(unit) if direction == "input")
    if bits > MAX_INPUT_BITS:
        message = f"must make inputs of at most {MAX_INPUT_BITS} bits in all, not of {bits}"
        raise InputError(source, field, message)


class UnitLevel(Level[S]):
    """A level whose top module is a single unit, which `fred synth` can map."""

    @abstractmethod
    def top(self, spec: S) -> Unit:
        """Return the top unit."""

    def check(self, spec: S, source: str) -> None:
        super().check(spec, source)
        check_inputs(self.top(spec), source)

    def name(self, spec: S) -> str:
        return self.top(spec).unit_name

    def build(self, spec: S, emitter: VerilogEmitter) -> Built:
        top = self.top(spec)
        emitter.add(top)
        return Built(emitter.verilog(), module_ports(top), emitter.count(top.unit_name))


LEVELS: Registry[Level[Any]] = Registry("gen.levels", "level")
"""All levels by name, one module each in ``gen/levels/``."""


def unit_levels() -> list[str]:
    """Return the names of the levels whose top module is a single unit."""
    return [name for name, one in LEVELS.items() if isinstance(one, UnitLevel)]
