"""Flits of packets on their way to a link, with their future header fields."""

from amaranth.lib import data
from amaranth.lib.data import View
from amaranth.lib.wiring import Out

from fred_hw.member import Bundle, member
from fred_hw.protocol import CRC_BITS
from fred_hw.spec import SwitchSpec

from .descriptor import descriptor_layout

__all__ = ["FramedData", "checked_layout", "frame_layout"]


def frame_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of what a flit carries besides its data.

    ``last`` ends the packet of ``descriptor`` on the virtual channel ``circuit``; ``index`` is the
    position of the flit, and ``link_sequence`` the link sequence number of the packet; with the
    last flit ``bad`` is high if the packet must not be used.
    """
    fields = spec.protocol.fields
    own = {name: fields[name] for name in ("index", "link_sequence")}
    layout = {
        "last": 1,
        "circuit": fields["circuit"],
        "descriptor": descriptor_layout(spec),
        "bad": 1,
        **own,
    }
    return data.StructLayout(layout)


def checked_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a flit: ``frame``, ``data``, and ``crc`` for a header of zeros."""
    return data.StructLayout(
        {"data": spec.data_width, "crc": CRC_BITS, "frame": frame_layout(spec)}
    )


class FramedData(Bundle):
    """A flit of a packet."""

    valid = member(Out, 1)
    """High for one cycle per flit; nothing can hold a flit back."""
    data = member(Out, lambda spec: spec.data_width)
    """Lanes, lane 0 in the low bits."""
    frame: View = member(Out, frame_layout)
    """Contents of its header."""
