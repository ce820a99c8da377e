"""Timing constraints (SDC)."""

from collections.abc import Sequence

from gen.any_design import AnyDesign
from gen.clock import CLOCK_HZ, CLOCK_SOURCE
from gen.ports import Port

from .companion import COMPANIONS, Companion

__all__ = ["timing_constraints"]

_STATIC = ("session_id", "address", "position")
"""Inputs that are constant from reset to reset."""


def timing_constraints(name: str, ports: Sequence[Port], clock_ns: float | None = None) -> str:
    """Return SDC constraints for the clock and for registered inputs and outputs.

    The clock is that of the published links, unless a specification says its ``clock_ns``. Period,
    uncertainty and delays are variables, which a script may set before it reads the file. Static
    inputs have no timing. Ports are listed by name, since tools differ in their commands for "all
    inputs but the clock".
    """
    period_ns = clock_ns or 1e9 / CLOCK_HZ
    source = CLOCK_SOURCE if clock_ns is None else "clock_ns of the specification"
    inputs = [port for port, direction, _ in ports if direction == "input" and port != "clk"]
    static = [port for port in inputs if port in _STATIC]
    lines = [
        f"# Timing constraints of {name}.",
        f"# Clock: {1 / period_ns:.6f} GHz, {source}.",
        "# Set any of these variables before you read this file: times in ns, delays as a share of",
        "# the period that belongs to registers outside.",
        _default("period", f"{period_ns:.4f}"),
        _default("clock_uncertainty", "0.0"),
        _default("input_delay", "0.2"),
        _default("output_delay", "0.2"),
        "create_clock -name clk -period $period [get_ports clk]",
        "set_clock_uncertainty $clock_uncertainty [get_clocks clk]",
        "",
        "set_input_delay [expr $input_delay * $period] -clock clk [get_ports {",
        *(f"    {port}" for port in inputs if port not in static),
        "}]",
        "set_output_delay [expr $output_delay * $period] -clock clk [all_outputs]",
    ]
    if static:
        lines += ["", "# Constant from reset to reset."]
        lines += [f"set_false_path -from [get_ports {{{' '.join(static)}}}]"]
    return "\n".join([*lines, ""])


def _default(name: str, value: str) -> str:
    return f"if {{ ![info exists {name}] }} {{ set {name} {value} }}"


def _of_design(design: AnyDesign) -> str:
    # Meshes and wafers have no clock period in their spec.
    clock_ns = getattr(design.spec, "clock_ns", None)
    return timing_constraints(design.name, design.ports, clock_ns)


COMPANIONS.add("SDC", Companion(".sdc", _of_design, fileset="constraints", file_type="SDC"), rank=6)
