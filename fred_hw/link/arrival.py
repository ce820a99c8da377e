"""Flits received from a link, on their way to the queue of their virtual channel."""

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec

from .descriptor import descriptor_layout

__all__ = ["Arrival", "arrival_signature", "queued_layout"]


class Arrival(wiring.PureInterface):
    """Flits of a virtual channel, and the fill level of its queue."""

    valid: Signal
    ready: Signal
    word: data.View
    incoming: Signal
    used: Signal


def queued_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a queue word: ``first``, ``last``, ``descriptor`` and ``data``."""
    return data.StructLayout(
        {"first": 1, "last": 1, "descriptor": descriptor_layout(spec), "data": spec.data_width}
    )


def arrival_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of a virtual channel's received flits, as seen by a ``Deframer``.

    Members
    -------
    valid, ready : Out(1), In(1)
        High for a cycle per flit, which is lost if the queue is not ready.
    word : Out(queued_layout(spec))
        The flit, of a packet in order, though its end may be missing.
    incoming : Out(1)
        Whether more flits may come of the packet of the flit that came last.
    used : In(range(buffer_flits + 1))
        Flits in the queue.
    """
    members = {
        "valid": Out(1),
        "ready": In(1),
        "word": Out(queued_layout(spec)),
        "incoming": Out(1),
        "used": In(range(spec.protocol.buffer_flits + 1)),
    }
    return wiring.Signature(members)
