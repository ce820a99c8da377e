"""Broken parts of the endpoint."""

from typing import Any

from amaranth.hdl import Module, Signal

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.endpoint.flow_receiver import FlowReceiver
from fred_hw.endpoint.route_keeper import RouteKeeper

from .fault import broken

__all__ = [
    "always_idle",
    "any_flit",
    "any_packet",
    "chooses_always",
    "forgets_duplicates",
    "interrupt_without_reset",
    "no_reply",
]


@broken(Endpoint, {"terminator": "flow_follows_tdest_after_the_acks"})
def always_idle(m: Module, sound: Any, ports: Any) -> None:
    """An endpoint reports that all packets are acknowledged, whether they are or not."""
    m.d.comb += ports.idle.eq(~0)


@broken(NpuEndpoint, {"endpoint": "irq is X"})
def interrupt_without_reset(m: Module, sound: Any, ports: Any) -> None:
    """The interrupt is a register without reset, which is only written when it changes."""
    held, last = Signal(reset_less=True), Signal()
    m.d.sync += last.eq(sound.irq)
    with m.If(last != sound.irq):
        m.d.sync += held.eq(sound.irq)
    m.d.comb += ports.irq.eq(held)


@broken(FlowReceiver, {"link": "wrong"})
def any_flit(m: Module, sound: Any, ports: Any) -> None:
    """The start of a packet is taken for the continuation of the previous one."""
    inside, word = Signal(), ports.i.word
    with m.If(ports.i.valid):
        m.d.sync += inside.eq(~word.last)
    m.d.comb += sound.i.word.first.eq(word.first & ~inside)


@broken(FlowReceiver, {"link": "wrong", "terminator": "packets_arrive_after_one_fault"})
def any_packet(m: Module, sound: Any, ports: Any) -> None:
    """A packet with any number is accepted as the expected one."""
    word = ports.i.word
    number = Signal.like(word.descriptor.sequence)
    with m.If(ports.i.valid & word.last):
        m.d.sync += number.eq(number + 1)
    m.d.comb += sound.i.word.descriptor.sequence.eq(number)


@broken(FlowReceiver, {"switch with endpoints": ""})
def no_reply(m: Module, sound: Any, ports: Any) -> None:
    """A destination does not answer requests for an ack."""
    m.d.comb += sound.ask.valid.eq(0)


@broken(RouteKeeper, {"link of a mesh": "a route that changes"})
def chooses_always(m: Module, sound: Any, ports: Any) -> None:
    """A packet takes the less loaded route, even while others are in flight."""
    m.d.comb += [sound.oldest.eq(ports.begun), sound.again.eq(0)]


@broken(RouteKeeper, {"link of a mesh": "a route that changes"})
def forgets_duplicates(m: Module, sound: Any, ports: Any) -> None:
    """Retransmitted packets do not block a change of route."""
    m.d.comb += sound.again.eq(0)
