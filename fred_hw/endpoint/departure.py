"""Flits of a flow waiting to be sent."""

from amaranth.hdl import Signal
from amaranth.lib import wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from fred_hw.link.descriptor import descriptor_layout
from fred_hw.spec import SwitchSpec

__all__ = ["Departure", "departure_signature"]


class Departure(wiring.PureInterface):
    """The flits a flow offers to send, and the flit that was taken."""

    waiting: Signal
    ends: Signal
    length: Signal
    take: Signal
    data: Signal
    descriptor: View
    index: Signal
    last: Signal


def departure_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of the flits that a ``FlowSender`` offers.

    Members
    -------
    waiting, ends : Out(1)
        A flit may be taken; this flit ends its packet. ``waiting`` stays high from the first to
        the last flit of a packet.
    length : Out(last)
        Place of the last flit of its packet.
    take : In(1)
        Take the flit.
    data : Out(data_width)
        Lanes of the flit that was taken in the previous cycle.
    descriptor : Out(descriptor_layout(spec))
        Header fields of the packet of this flit.
    index, last : Out(index), Out(1)
        Place of this flit in its packet, and whether it is the last one.
    """
    members = {
        "waiting": Out(1),
        "ends": Out(1),
        "length": Out(spec.protocol.fields["last"]),
        "take": In(1),
        "data": Out(spec.data_width),
        "descriptor": Out(descriptor_layout(spec)),
        "index": Out(spec.protocol.fields["index"]),
        "last": Out(1),
    }
    return wiring.Signature(members)
