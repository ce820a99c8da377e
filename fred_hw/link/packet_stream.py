"""Packets at the ports of a switch without the link layer."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec

__all__ = ["packet_signature"]


def packet_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of a port, as the source of its packets sees it.

    Members
    -------
    valid, ready : Out(1), In(1)
        A flit is transferred in a cycle with both high; one that is offered stays until then.
    data : Out(data_width)
        Lanes, lane 0 in the low bits.
    last : Out(1)
        High with the last flit of a packet.
    phase, circuit, peer : Out
        Those of the packet, the same in all of its flits; see docs/protocol.md.
    """
    fields = spec.protocol.fields(spec.ports)
    return wiring.Signature(
        {"valid": Out(1), "ready": In(1), "data": Out(spec.data_width), "last": Out(1)}
        | {name: Out(fields[name]) for name in ("phase", "circuit", "peer")}
    )
