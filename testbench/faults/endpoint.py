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
    "never_forgets",
    "no_reply",
    "reports_no_broken_flits",
    "reports_no_errors",
    "reports_no_incompatible_neighbour",
    "reports_no_overflow",
    "reports_no_retransmission",
    "reports_no_unknown_flow",
]


@broken(Endpoint, {"terminator": "flow_follows_tdest_after_the_acks"})
def always_idle(m: Module, sound: Any, ports: Any) -> None:
    """An endpoint reports that all packets are acknowledged, whether they are or not."""
    m.d.comb += ports.idle.eq(~0)


@broken(Endpoint, {"terminator": "a_broken_flit_is_dropped_and_sent_again"})
def reports_no_broken_flits(m: Module, sound: Any, ports: Any) -> None:
    """An endpoint does not report that it drops a flit."""
    m.d.comb += ports.dropped.eq(0)


@broken(Endpoint, {"terminator": "a_broken_flit_is_dropped_and_sent_again"})
def reports_no_retransmission(m: Module, sound: Any, ports: Any) -> None:
    """An endpoint does not report that it retransmits packets."""
    m.d.comb += ports.rewinds.eq(0)


@broken(Endpoint, {"terminator": "a_flow_that_is_not_received_is_unknown"})
def reports_no_unknown_flow(m: Module, sound: Any, ports: Any) -> None:
    """An endpoint does not report flits of a flow that it does not receive."""
    m.d.comb += ports.unknown.eq(0)


@broken(Endpoint, {"terminator": "a_wrong_header_is_an_error"})
def reports_no_errors(m: Module, sound: Any, ports: Any) -> None:
    """An endpoint does not report headers that no correct neighbour sends."""
    m.d.comb += [ports.kind_error.eq(0), ports.length_error.eq(0)]


@broken(Endpoint, {"terminator": "a_flit_without_buffer_space_is_an_error"})
def reports_no_overflow(m: Module, sound: Any, ports: Any) -> None:
    """An endpoint does not report flits for which it has no buffer space."""
    m.d.comb += ports.overflow.eq(0)


@broken(Endpoint, {"terminator": "an_incompatible_neighbour_is_refused"})
def reports_no_incompatible_neighbour(m: Module, sound: Any, ports: Any) -> None:
    """An endpoint does not report the handshake of an incompatible neighbour."""
    m.d.comb += ports.refused.eq(0)


@broken(Endpoint, {"terminator": "a_forgotten_phase_starts_at_number_0"})
def never_forgets(m: Module, sound: Any, ports: Any) -> None:
    """An endpoint keeps the numbers of a phase that is rewritten."""
    m.d.comb += sound.forget.eq(0)


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
