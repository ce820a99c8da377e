"""Ports of generated modules."""

from collections.abc import Mapping

from amaranth.hdl import Value
from amaranth.lib.wiring import Component, In

from fred_hw.link.axis import AXIS_BACK

__all__ = ["SHARED", "Port", "bit_range", "head_of_top", "instance", "link_ports", "module_ports"]

Port = tuple[str, str, int]
"""Name, direction ("input" or "output") and width in bits."""

SHARED = ("clk", "rst", "session_id")
"""Ports that all units of a top share."""


def module_ports(top: Component) -> list[Port]:
    """Return the ports of a component's module: clock, reset, then its members in order."""
    ports: list[Port] = [("clk", "input", 1), ("rst", "input", 1)]
    for path, member, value in top.signature.flatten(top):
        name = "__".join(str(part) for part in path)
        direction = "input" if member.flow == In else "output"
        ports.append((name, direction, len(Value.cast(value))))
    return ports


def link_ports(prefix: str, widths: Mapping[str, int]) -> list[Port]:
    """Return the ports of an external link; ``{}`` in the prefix stands for "s" or "m"."""
    return [
        (prefix.format(letter) + wire, back if wire == AXIS_BACK else forth, bits)
        for letter, forth, back in (("s", "input", "output"), ("m", "output", "input"))
        for wire, bits in widths.items()
    ]


def bit_range(bits: int) -> str:
    """Return the range that precedes the name of a wire with a number of bits."""
    return f"[{bits - 1}:0] " if bits > 1 else ""


def instance(module: str, name: str, pins: Mapping[str, str]) -> list[str]:
    """Return the lines of an instance, given the wire at each port of its module."""
    return [
        f"  {module} {name} (",
        ",\n".join(f"    .{port}({wire})" for port, wire in pins.items()),
        "  );",
    ]


def head_of_top(name: str, ports: list[Port]) -> list[str]:
    """Return the first lines of a module whose outputs are also wires."""
    return [
        f"module {name}({', '.join(port for port, _, _ in ports)});",
        *(f"  {direction} {bit_range(bits)}{port};" for port, direction, bits in ports),
        *(
            f"  wire {bit_range(bits)}{port};"
            for port, direction, bits in ports
            if direction == "output"
        ),
    ]
