"""Registers of a switch or an endpoint, as a C header, a page and SystemRDL."""

from fred_hw.control.registers import RegisterMap
from gen.any_design import AnyDesign
from gen.level import LEVELS
from gen.registers import c_header, markdown
from gen.system_rdl import system_rdl

from .companion import COMPANIONS, Companion

__all__ = ["registers_of"]


def registers_of(design: AnyDesign) -> RegisterMap:
    """Return the registers of a design; None if its level has none."""
    registers = LEVELS[design.level].registers
    assert registers is not None  # checked by Companion.serves
    return registers(design.spec)


COMPANIONS.add(
    "C header",
    Companion(
        "_registers.h", lambda design: c_header(registers_of(design)), levels=("switch", "endpoint")
    ),
    rank=1,
)
COMPANIONS.add(
    "page of registers",
    Companion(
        "_registers.md",
        lambda design: f"# Registers\n\n{markdown(registers_of(design))}",
        levels=("switch", "endpoint"),
    ),
    rank=2,
)
COMPANIONS.add(
    "SystemRDL",
    Companion(
        "_registers.rdl",
        lambda design: system_rdl(registers_of(design)),
        levels=("switch", "endpoint"),
    ),
    rank=2.5,
)
