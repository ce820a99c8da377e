"""Flits received from a link, on their way to the queue of their virtual channel."""

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.member import Bundle, member
from fred_hw.spec import SwitchSpec

from .descriptor import descriptor_layout

__all__ = ["Arrival", "queued_layout"]


def queued_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a queue word: ``first``, ``last``, ``descriptor`` and ``data``."""
    return data.StructLayout(
        {"first": 1, "last": 1, "descriptor": descriptor_layout(spec), "data": spec.data_width}
    )


class Arrival(Bundle):
    """Flits that a ``Deframer`` receives on a virtual channel, and the fill level of its queue."""

    valid = member(Out, 1)
    """High for a cycle per flit."""
    ready = member(In, 1)
    """Whether the queue has space; a flit that comes while ``ready`` is low is lost."""
    word: data.View = member(Out, queued_layout)
    """The flit, of a packet in order, though its end may be missing."""
    incoming = member(Out, 1)
    """Whether more flits may come of the packet of the flit that came last."""
    used = member(In, lambda spec: range(spec.protocol.buffer_flits + 1))
    """Flits in the queue."""
