"""Timing constraints (SDC)."""

from gen.clock import CLOCK_HZ, CLOCK_SOURCE

from .companion import COMPANIONS, Companion

__all__ = ["timing_constraints"]


def timing_constraints(name: str) -> str:
    """Return SDC constraints: the clock, and inputs and outputs that belong to registers."""
    period_ns = 1e9 / CLOCK_HZ
    return f"""# Timing constraints of {name}.
# Clock: {CLOCK_HZ / 1e9:.6f} GHz, {CLOCK_SOURCE}.
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


COMPANIONS.add(
    "SDC",
    Companion(
        ".sdc",
        lambda design: timing_constraints(design.name),
        fileset="constraints",
        file_type="SDC",
    ),
    rank=6,
)
