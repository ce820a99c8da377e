"""Unicast routes: the output port of each address."""

from amaranth.lib import data

from fred_hw.protocol import ADDRESSES
from fred_hw.spec import SwitchSpec

__all__ = ["route_bits", "routes_layout"]


def route_bits(spec: SwitchSpec) -> int:
    """Return the bits of a route: port number plus 1, or 0 for no route."""
    return spec.ports.bit_length()


def routes_layout(spec: SwitchSpec) -> data.ArrayLayout:
    """Return the layout of the routes of all addresses."""
    return data.ArrayLayout(route_bits(spec), ADDRESSES)
