"""Ports of generated modules."""

from amaranth.hdl import Value
from amaranth.lib.wiring import Component, In

__all__ = ["Port", "module_ports"]

Port = tuple[str, str, int]
"""Name, "input" or "output", and width in bits."""


def module_ports(top: Component) -> list[Port]:
    """Return the ports of a component as a module: clock and reset, then its members in order."""
    ports: list[Port] = [("clk", "input", 1), ("rst", "input", 1)]
    for path, member, value in top.signature.flatten(top):
        name = "__".join(str(part) for part in path)
        direction = "input" if member.flow == In else "output"
        ports.append((name, direction, len(Value.cast(value))))
    return ports
