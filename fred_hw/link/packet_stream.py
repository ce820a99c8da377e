"""Streams of packets at an NPU."""

from amaranth.hdl import Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec

__all__ = ["PayloadStream", "payload_signature"]


class PayloadStream(wiring.PureInterface):
    """Payload, flit by flit, with ``valid`` and ``ready`` as in Amaranth's streams."""

    valid: Signal
    ready: Signal
    data: Signal
    last: Signal


def payload_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of a stream of one flow's packets, as seen by its source.

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
