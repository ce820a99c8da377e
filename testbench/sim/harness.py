"""Compiled harnesses: a Verilated unit driven by a C++ program, built once per content."""

from collections.abc import Mapping
from pathlib import Path

from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter

from .verilate import verilate

__all__ = ["build_harness"]


def build_harness(
    unit: Unit, sources: Mapping[str, str], emitter: VerilogEmitter | None = None
) -> Path:
    """Verilate a unit with a harness, and return the program, from the cache if present.

    Parameters
    ----------
    unit : Unit
        Top of the design; used up.
    sources : mapping of str to str
        C++ files by name; they include ``V<unit name>.h``.
    emitter : VerilogEmitter, optional
        One that puts broken units into the design.

    Raises
    ------
    SimulatorError
        Verilator is not installed or could not build.
    """
    emitter = emitter or VerilogEmitter()
    emitter.add(unit)
    return verilate(emitter.verilog(), unit.unit_name, sources)
