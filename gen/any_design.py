"""Inputs of companion files, common to all designs."""

from dataclasses import dataclass
from typing import Any

from .ports import Port

__all__ = ["AnyDesign"]


@dataclass(frozen=True, kw_only=True)
class AnyDesign:
    """Generated Verilog, and what is known of it.

    Parameters
    ----------
    spec : FileModel
        What it was generated from.
    level : str
        What it is of that, one of ``LEVELS``.
    name : str
        Name of the top module and of the files.
    verilog : str
        All modules, the top one last.
    ports : tuple of (name, direction, width)
        Ports of the top module, "input" or "output", width in bits.
    modules : Mapping of str to int
        How often each distinct module stands in the hierarchy.
    units : dict of str to str
        From which class each module was generated, ``fred_hw.<space>.<module>.<class>``.
    latency_cycles : int
        Cycles between two events that its level names.
    """

    spec: Any
    level: str
    name: str
    verilog: str
    ports: tuple[Port, ...]
    modules: dict[str, int]
    units: dict[str, str]
    latency_cycles: int
