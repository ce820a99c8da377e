"""Packets at the ports of a switch."""

from amaranth.hdl import Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .spec import CoreSpec

__all__ = ["PortStream", "port_signature"]


class PortStream(wiring.PureInterface):
    """Flits of packets with ``valid`` and ``ready``, and what their packet is about."""

    valid: Signal
    ready: Signal
    data: Signal
    last: Signal
    phase: Signal
    circuit: Signal


def port_signature(spec: CoreSpec, data_width: int) -> wiring.Signature:
    """Return the signature of a port, as the source of its packets sees it.

    Members
    -------
    valid, ready : Out(1), In(1)
        A flit is transferred in a cycle with both high; one that is offered stays until then.
    data : Out(data_width)
        Lanes, lane 0 in the low bits.
    last : Out(1)
        High with the last flit of a packet.
    phase : Out(phase_bits)
        Phase of the packet, the same in all of its flits.
    circuit : Out(2)
        Virtual circuit of the packet: 0 MP, 1 PP, 2 DP.
    """
    return wiring.Signature(
        {
            "valid": Out(1),
            "ready": In(1),
            "data": Out(data_width),
            "last": Out(1),
            "phase": Out(spec.phase_bits),
            "circuit": Out(2),
        }
    )
