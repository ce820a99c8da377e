"""Timing constraints (SDC)."""

from gen.any_design import AnyDesign
from gen.clock import CLOCK_HZ, CLOCK_SOURCE

from .companion import COMPANIONS, Companion

__all__ = ["timing_constraints"]


def timing_constraints(name: str, clock_ns: float | None = None) -> str:
    """Return SDC constraints for the clock and for registered inputs and outputs.

    The clock is that of the published links, unless a specification says its ``clock_ns``.
    """
    period_ns = clock_ns or 1e9 / CLOCK_HZ
    source = CLOCK_SOURCE if clock_ns is None else "clock_ns of the specification"
    return f"""# Timing constraints of {name}.
# Clock: {1 / period_ns:.6f} GHz, {source}.
set period {period_ns:.4f}
create_clock -name clk -period $period [get_ports clk]

# All ports belong to registers outside; a fifth of the period is theirs.
set data_inputs {{}}
foreach_in_collection port [all_inputs] {{
    if {{ [get_object_name $port] ne "clk" }} {{ lappend data_inputs $port }}
}}
set_input_delay  [expr 0.2 * $period] -clock clk $data_inputs
set_output_delay [expr 0.2 * $period] -clock clk [all_outputs]
"""


def _of_design(design: AnyDesign) -> str:
    # Meshes and wafers have no clock period in their spec.
    return timing_constraints(design.name, getattr(design.spec, "clock_ns", None))


COMPANIONS.add("SDC", Companion(".sdc", _of_design, fileset="constraints", file_type="SDC"), rank=6)
