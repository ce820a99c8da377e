"""Inputs of companion files that all designs have."""

from dataclasses import dataclass
from typing import Any

from .ports import Port

__all__ = ["AnyDesign"]


@dataclass(frozen=True, kw_only=True)
class AnyDesign:
    """Generated Verilog with its properties.

    Parameters
    ----------
    spec : FileModel
        Source specification.
    level : str
        Level of the design, one of ``LEVELS``.
    name : str
        Name of the top module and of the files.
    verilog : str
        All modules, the top one last.
    ports : tuple of (name, direction, width)
        Ports of the top module, "input" or "output", width in bits.
    modules : Mapping of str to int
        Number of instances of each distinct module in the hierarchy.
    units : dict of str to str
        Class from which each module was generated, ``fred_hw.<package>.<module>.<class>``.
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
