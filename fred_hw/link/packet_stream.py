"""Streams of packets: payload at an NPU, and packets at a switch without the link layer."""

from amaranth.hdl import Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec

__all__ = [
    "PACKET_FIELDS",
    "PacketStream",
    "PayloadStream",
    "packet_signature",
    "payload_signature",
]

PACKET_FIELDS = ("phase", "circuit", "peer")
"""What goes with the payload of a packet without the link layer, the lowest first in ``tuser``."""


class PayloadStream(wiring.PureInterface):
    """Payload flit by flit, with ``valid`` and ``ready`` as in Amaranth's streams."""

    valid: Signal
    ready: Signal
    data: Signal
    last: Signal


class PacketStream(PayloadStream):
    """Packets with what a switch has to know of them."""

    phase: Signal
    circuit: Signal
    peer: Signal


def payload_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of a stream of packets of one flow, as its source sees it.

    Members
    -------
    valid, ready : Out(1), In(1)
        A flit is transferred in a cycle with both high; one that is offered stays until then.
    data : Out(data_width)
        Lanes, lane 0 in the low bits.
    last : Out(1)
        High with the last flit of a packet.
    """
    return wiring.Signature(
        {"valid": Out(1), "ready": In(1), "data": Out(spec.data_width), "last": Out(1)}
    )


def packet_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of a port without the link layer, as the source of its packets sees it.

    Members
    -------
    valid, ready, data, last
        As in ``payload_signature``.
    phase, circuit, peer : Out
        Those of the packet, the same in all of its flits; see docs/protocol.md.
    """
    fields = spec.protocol.fields(spec.ports)
    own = {name: Out(fields[name]) for name in PACKET_FIELDS}
    return wiring.Signature({**payload_signature(spec).members, **own})
