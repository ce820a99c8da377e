"""Ports of generated modules."""

from collections.abc import Mapping

from amaranth.hdl import Value
from amaranth.lib.wiring import Component, In

from fred_hw.link.axis import AXIS_BACK

__all__ = ["SHARED", "Port", "bit_range", "head_of_top", "link_ports", "module_ports"]

Port = tuple[str, str, int]
"""Name, "input" or "output", and width in bits."""

SHARED = ("clk", "rst", "session_id")
"""Ports that all units of a top have in common."""


def module_ports(top: Component) -> list[Port]:
    """Return the ports of a component as a module: clock and reset, then its members in order."""
    ports: list[Port] = [("clk", "input", 1), ("rst", "input", 1)]
    for path, member, value in top.signature.flatten(top):
        name = "__".join(str(part) for part in path)
        direction = "input" if member.flow == In else "output"
        ports.append((name, direction, len(Value.cast(value))))
    return ports


def link_ports(prefix: str, widths: Mapping[str, int]) -> list[Port]:
    """Return the ports of a link at the outside, with ``{}`` in the prefix for "s" and for "m"."""
    return [
        (prefix.format(letter) + wire, back if wire == AXIS_BACK else forth, bits)
        for letter, forth, back in (("s", "input", "output"), ("m", "output", "input"))
        for wire, bits in widths.items()
    ]


def bit_range(bits: int) -> str:
    """Return what stands before the name of a wire of so many bits."""
    return f"[{bits - 1}:0] " if bits > 1 else ""


def head_of_top(name: str, ports: list[Port]) -> list[str]:
    """Return the first lines of a module, in which outputs are wires too."""
    return [
        f"module {name}({', '.join(port for port, _, _ in ports)});",
        *(f"  {direction} {bit_range(bits)}{port};" for port, direction, bits in ports),
        *(f"  wire {bit_range(bits)}{port};" for port, way, bits in ports if way == "output"),
    ]
