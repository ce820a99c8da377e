"""Files that lie beside the Verilog: FuseSoC core, timing constraints, lint waivers."""

import yaml

__all__ = ["CLOCK_HZ", "CLOCK_SOURCE", "core_file", "lint_waivers", "timing_constraints"]

CLOCK_HZ = 600e9 / 512
CLOCK_SOURCE = "derived from the published port rate: 600 GB/s in flits of 512 B, one per cycle"


_DESCRIPTIONS = {
    "interconnect": "FRED interconnect: rigid pipeline that reduces and broadcasts as it routes",
    "switch": "FRED switch: interconnect with links, virtual circuits, scheduler and registers",
}


def core_file(name: str, version: str, level: str = "interconnect") -> str:
    """Return a FuseSoC core description (CAPI2) with a lint target."""
    core = {
        "name": f"fred-hw:{level}:{name}:{version}",
        "description": _DESCRIPTIONS[level],
        "filesets": {
            "rtl": {"files": [f"{name}.v"], "file_type": "verilogSource-2005"},
            "constraints": {"files": [f"{name}.sdc"], "file_type": "SDC"},
            "lint": {"files": [f"{name}.vlt"], "file_type": "vlt"},
        },
        "targets": {
            "default": {"filesets": ["rtl", "constraints"], "toplevel": name},
            "lint": {
                "default_tool": "verilator",
                "filesets": ["lint", "rtl"],
                "tools": {"verilator": {"mode": "lint-only", "verilator_options": ["-Wall"]}},
                "toplevel": name,
            },
        },
    }
    return "CAPI=2:\n" + yaml.safe_dump(core, sort_keys=False, width=100)


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


_WAIVERS = (
    ("DECLFILENAME", "all modules of a switch stand in one file, named after the top one"),
    ("UNUSEDSIGNAL", "the carry out of an adder is written down though nothing needs it"),
    ("WIDTHEXPAND", "leading zeros of operands are left out; Verilog extends them by itself"),
    ("WIDTHTRUNC", "likewise for the result of a difference that is known to fit"),
)


def lint_waivers(name: str) -> str:
    """Return a Verilator control file with the few rules waived in ``name``.v, and why."""
    lines = ["`verilator_config"]
    for rule, reason in _WAIVERS:
        lines += [f"// {reason}", f'lint_off -rule {rule} -file "*{name}.v"']
    return "\n".join(lines) + "\n"
