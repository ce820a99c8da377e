"""All files generated from one specification, as text in memory."""

from functools import cached_property
from typing import Any

from fred_hw.checks import check_choice
from fred_hw.files import FileModel

from .any_design import AnyDesign
from .companions.companion import COMPANIONS
from .companions.manifest import manifest
from .emitter import VerilogEmitter
from .level import LEVELS

__all__ = ["Design", "file_names", "generate"]


class Design(AnyDesign):
    """Generated Verilog, and the inputs of its companion files."""

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The information needed to use the Verilog, as JSON values."""
        return manifest(self)

    @property
    def microswitches(self) -> dict[str, int]:
        """Number of micro-switches and (de)multiplexers of each kind; empty if there are none."""
        return self.manifest.get("microswitches", {})

    def files(self) -> dict[str, str]:
        """Return the text of each file, keyed by name."""
        served = [one for one in COMPANIONS.values() if one.serves(self.level)]
        return {self.name + one.ending: one.write(self) for one in served}


def generate(
    spec: FileModel, emitter: VerilogEmitter | None = None, level: str = "interconnect"
) -> Design:
    """Generate one level of a specification.

    Parameters
    ----------
    spec : FileModel
        Specification, an instance of the level's ``model``.
    emitter : VerilogEmitter, optional
        The writer; one with replacements puts faults into the hardware.
    level : str
        One of ``LEVELS``.

    Raises
    ------
    ValueError, TypeError
        There is no such level, or the specification belongs to another level.
    InputError
        The level cannot be generated from the specification.
    """
    what, emitter = LEVELS[check_choice("level", level, tuple(LEVELS))], emitter or VerilogEmitter()
    if not isinstance(spec, what.model):
        model = what.model.__name__
        raise TypeError(f"spec of level {level} must be a {model}, not {spec!r}")
    what.check(spec, "spec")
    built = what.build(spec, emitter)
    return Design(
        spec=spec,
        level=level,
        name=what.name(spec),
        verilog=built.verilog,
        ports=tuple(built.ports),
        modules=built.modules,
        units=emitter.units,
        latency_cycles=what.latency_cycles(spec),
    )


def file_names(spec: FileModel, level: str = "interconnect") -> list[str]:
    """Return the file names of a design, without generating it."""
    name = LEVELS[level].name(spec)
    return [name + one.ending for one in COMPANIONS.values() if one.serves(level)]
