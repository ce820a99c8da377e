"""Registers of a whole switch or an endpoint, as a C header and as a page."""

from typing import TYPE_CHECKING

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.control.registers import RegisterMap
from fred_hw.control.switch_map import switch_map
from gen.registers import c_header, markdown

from .companion import COMPANIONS, Companion

if TYPE_CHECKING:
    from gen.design import Design

__all__ = ["registers_of"]


def registers_of(design: "Design") -> RegisterMap:
    """Return the registers of a switch or an endpoint."""
    return endpoint_map(design.spec) if design.level == "endpoint" else switch_map(design.spec)


COMPANIONS.add(
    "C header",
    Companion("_registers.h", lambda design: c_header(registers_of(design)), switch_only=True),
    rank=1,
)
COMPANIONS.add(
    "page of registers",
    Companion(
        "_registers.md",
        lambda design: f"# Registers\n\n{markdown(registers_of(design))}",
        switch_only=True,
    ),
    rank=2,
)
