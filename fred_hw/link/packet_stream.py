"""Streams of packets at an NPU."""

from amaranth.lib.wiring import In, Out

from fred_hw.member import Bundle, member

__all__ = ["PayloadStream"]


class PayloadStream(Bundle):
    """Payload of one flow, flit by flit, as seen by its source."""

    valid = member(Out, 1)
    """A flit is offered; it stays until it is transferred, in a cycle with ``ready``."""
    ready = member(In, 1)
    """The flit is taken."""
    data = member(Out, lambda spec: spec.data_width)
    """Lanes, lane 0 in the low bits."""
    last = member(Out, 1)
    """High with the last flit of a packet."""
