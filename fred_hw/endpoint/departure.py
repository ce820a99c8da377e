"""Flits of a flow waiting to be sent."""

from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from fred_hw.link.descriptor import descriptor_layout
from fred_hw.member import Bundle, member

__all__ = ["Departure"]


class Departure(Bundle):
    """The flits that a ``FlowSender`` offers, and the flit that was taken."""

    waiting = member(Out, 1)
    """A flit may be taken. High from the first to the last flit of a packet."""
    ends = member(Out, 1)
    """This flit ends its packet."""
    length = member(Out, lambda spec: spec.protocol.fields["last"])
    """Place of the last flit of its packet."""
    take = member(In, 1)
    """Take the flit."""
    data = member(Out, lambda spec: spec.data_width)
    """Lanes of the flit that was taken in the previous cycle."""
    descriptor: View = member(Out, descriptor_layout)
    """Header fields of the packet of this flit."""
    index = member(Out, lambda spec: spec.protocol.fields["index"])
    """Place of this flit in its packet."""
    last = member(Out, 1)
    """Whether the flit is the last one of its packet."""
