"""Designs that companion files are made for."""

from typing import Any

from fred_hw.load import load_spec
from gen.any_design import AnyDesign
from gen.level import LEVELS
from gen.ports import module_ports

__all__ = ["SPEC", "design_without_verilog"]

SPEC = load_spec("tiny-2")


def design_without_verilog(level: str) -> AnyDesign:
    """Return a design whose ports are right and whose Verilog is not, so nothing is generated."""
    kind: Any = LEVELS[level]
    return AnyDesign(
        spec=SPEC,
        level=level,
        name=kind.name(SPEC),
        verilog="module \N{MICRO SIGN};",
        ports=tuple(module_ports(kind.top(SPEC))),
        modules={"unit": 1},
        units={},
        latency_cycles=7,
    )
