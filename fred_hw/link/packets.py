"""Streams of packets at the ends of a link."""

from amaranth.hdl import Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .spec import LinkSpec

__all__ = ["PacketStream", "packet_signature"]


class PacketStream(wiring.PureInterface):
    """Payload flit by flit, with ``valid`` and ``ready`` as in Amaranth's streams."""

    valid: Signal
    ready: Signal
    data: Signal
    last: Signal


def packet_signature(spec: LinkSpec) -> wiring.Signature:
    """Return the signature of a packet stream, as its source sees it.

    Members
    -------
    valid, ready : Out(1), In(1)
        A flit is transferred in a cycle with both high; one that is offered stays until then.
    data : Out(data_width)
        Payload.
    last : Out(1)
        High with the last flit of a packet.
    """
    return wiring.Signature(
        {"valid": Out(1), "ready": In(1), "data": Out(spec.data_width), "last": Out(1)}
    )
