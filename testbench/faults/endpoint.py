"""Broken parts of the endpoint."""

from typing import Any

from amaranth.hdl import Module, Signal

from fred_hw.endpoint.flow_receiver import FlowReceiver
from fred_hw.endpoint.way_keeper import WayKeeper

from .fault import broken

__all__ = ["any_flit", "any_packet", "chooses_always", "forgets_copies", "no_reply"]


@broken(FlowReceiver, {"link": "wrong"})
def any_flit(m: Module, sound: Any, ports: Any) -> None:
    """A packet that begins again is taken for the rest of what came of it."""
    inside, word = Signal(), ports.i.word
    with m.If(ports.i.valid):
        m.d.sync += inside.eq(~word.last)
    m.d.comb += sound.i.word.first.eq(word.first & ~inside)


@broken(FlowReceiver, {"link": "wrong"})
def any_packet(m: Module, sound: Any, ports: Any) -> None:
    """A packet of any number is taken for the one that is due."""
    word = ports.i.word
    number = Signal.like(word.descriptor.sequence)
    with m.If(ports.i.valid & word.last):
        m.d.sync += number.eq(number + 1)
    m.d.comb += sound.i.word.descriptor.sequence.eq(number)


@broken(FlowReceiver, {"switch with endpoints": ""})
def no_reply(m: Module, sound: Any, ports: Any) -> None:
    """A destination answers no ask."""
    m.d.comb += sound.ask.valid.eq(0)


@broken(WayKeeper, {"link of a mesh": "a way that changes"})
def chooses_always(m: Module, sound: Any, ports: Any) -> None:
    """A packet goes the less crowded way, whatever is under way."""
    m.d.comb += [sound.oldest.eq(ports.begun), sound.again.eq(0)]


@broken(WayKeeper, {"link of a mesh": "a way that changes"})
def forgets_copies(m: Module, sound: Any, ports: Any) -> None:
    """Packets that are sent again leave no doubt."""
    m.d.comb += sound.again.eq(0)
