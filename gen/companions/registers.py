"""Registers of a whole switch, as a C header and as a page."""

from fred_hw.control.switch_map import switch_map
from gen.registers import c_header, markdown

from .companion import COMPANIONS, Companion

__all__: list[str] = []

COMPANIONS.add(
    "C header",
    Companion("_registers.h", lambda design: c_header(switch_map(design.spec)), switch_only=True),
    rank=1,
)
COMPANIONS.add(
    "page of registers",
    Companion(
        "_registers.md",
        lambda design: f"# Registers\n\n{markdown(switch_map(design.spec))}",
        switch_only=True,
    ),
    rank=2,
)
