"""Flits of packets on their way to a link, with their future header fields."""

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import Out

from fred_hw.protocol import CRC_BITS
from fred_hw.spec import SwitchSpec

from .descriptor import descriptor_layout

__all__ = ["FramedData", "checked_layout", "frame_layout", "frame_signature"]


class FramedData(wiring.PureInterface):
    """A flit of a packet."""

    valid: Signal
    data: Signal
    frame: View


def frame_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of what a flit carries in addition to its data.

    ``last`` ends the packet of ``descriptor`` on ``circuit``; ``index`` is the place of the flit,
    ``link_sequence`` the packet's; with the last flit ``bad`` is high if the packet must not be
    used.
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


def frame_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of flits for a ``Sender``.

    Members
    -------
    valid : Out(1)
        High for one cycle per flit; nothing can hold a flit back.
    data : Out(data_width)
        Lanes, lane 0 in the low bits.
    frame : Out(frame_layout(spec))
        What its header will say.
    """
    return wiring.Signature(
        {"valid": Out(1), "data": Out(spec.data_width), "frame": Out(frame_layout(spec))}
    )


def checked_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return a flit with ``crc``, that of a header of zeros and its ``data``, and its ``frame``."""
    return data.StructLayout(
        {"data": spec.data_width, "crc": CRC_BITS, "frame": frame_layout(spec)}
    )
