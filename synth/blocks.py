"""Liberty text of black boxes: memories, and modules that only load their inputs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .liberty import EDGES
from .mapping import Memory

__all__ = ["Block", "blocks_library", "memory_block"]


_SLEWS = (("lower", 20), ("upper", 80))


@dataclass(frozen=True)
class Block:
    """A black box: a module without contents.

    Parameters
    ----------
    name : str
        Name of its module.
    ports : Mapping of str to (way, width)
        Its ports, "input" or "output", width in bits.
    loads_ff : Mapping of str to float
        Capacitance of each bit of an input [fF]; 0 for others.
    clock : str
        The port at whose rising edge inputs are sampled and outputs change; empty if they never do.
    """

    name: str
    ports: Mapping[str, tuple[str, int]]
    loads_ff: Mapping[str, float]
    clock: str = ""


def memory_block(memory: Memory, load_ff: float) -> Block:
    """Return a memory whose accesses happen at clock edges and take no time."""
    loads = dict.fromkeys((pin for pin in memory.pins if pin != "CLK"), load_ff)
    return Block(memory.kind, memory.pins, loads, clock="CLK")


def blocks_library(blocks: Iterable[Block]) -> str:
    """Return the Liberty text of a library of blocks."""
    blocks = list(blocks)
    widths = sorted({width for block in blocks for _, width in block.ports.values()})
    lines = [
        "library (fred_blocks) {",
        "  delay_model : table_lookup;",
        '  time_unit : "1ns";',
        "  capacitive_load_unit (1, ff);",
        '  voltage_unit : "1V";',
        '  current_unit : "1mA";',
        *(
            f"  {direction}_threshold_pct_{edge} : 50;"
            for direction in ("input", "output")
            for edge in EDGES
        ),
        *(
            f"  slew_{level}_threshold_pct_{edge} : {percent};"
            for level, percent in _SLEWS
            for edge in EDGES
        ),
        *(_bus_type(width) for width in widths),
    ]
    for block in blocks:
        lines += _cell(block)
    return "\n".join([*lines, "}", ""])


def _bus_type(width: int) -> str:
    return (
        f"  type (bus_{width}) {{ base_type : array; data_type : bit; bit_width : {width}; "
        f"bit_from : {width - 1}; bit_to : 0; downto : true; }}"
    )


def _cell(block: Block) -> list[str]:
    lines = [f"  cell ({block.name}) {{", "    area : 0;"]
    for port, (direction, width) in block.ports.items():
        kind = "pin" if width == 1 else "bus"
        lines += [f"    {kind} ({port}) {{"] + [f"      bus_type : bus_{width};"] * (width > 1)
        lines.append(f"      direction : {direction};")
        if direction == "input":
            lines.append(f"      capacitance : {block.loads_ff.get(port, 0.0):.6g};")
        if port == block.clock:
            lines.append("      clock : true;")
        elif block.clock:
            lines += _timing(block.clock, direction)
        lines.append("    }")
    return [*lines, "  }"]


def _timing(clock: str, direction: str) -> list[str]:
    zero = '(scalar) { values ("0.0"); }'
    names = ("rise_constraint", "fall_constraint")
    if direction == "output":
        names = ("cell_rise", "cell_fall", "rise_transition", "fall_transition")
    kind = "setup_rising" if direction == "input" else "rising_edge"
    return [
        f'      timing () {{ related_pin : "{clock}"; timing_type : {kind};',
        *(f"        {name} {zero}" for name in names),
        "      }",
    ]
