"""The Verilog file."""

from .companion import COMPANIONS, Companion

__all__: list[str] = []

COMPANIONS.add(
    "Verilog",
    Companion(".v", lambda design: design.verilog, fileset="rtl", file_type="verilogSource-2005"),
    rank=3,
)
