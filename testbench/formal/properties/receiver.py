"""Property of the destination of a flow: its window when packet numbers wrap."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal

from fred_hw.endpoint.flow import same_flow
from fred_hw.endpoint.flow_receiver import FlowReceiver
from fred_hw.protocol import Kind
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.properties.links import SPEC
from testbench.formal.property import prove

__all__: list[str] = []

_PROTOCOL = SPEC.protocol
_WINDOW = _PROTOCOL.window_packets


@broken(FlowReceiver, {})
def far_edge_is_missing(m: Module, sound: Any, ports: Any) -> None:
    """A packet at the far edge of the window counts as the one behind it."""
    told, expected = ports.i.word.descriptor.sequence, sound.message.payload.sequence
    with m.If((expected - told)[: len(told)] == _WINDOW):
        m.d.comb += sound.i.word.descriptor.sequence.eq(told - 1)


def _packets_in_order(c: Harness, u: Any) -> Signal:
    """Assume flits of packets in order, whose end may be missing; return the index of a flit."""
    word, size = u.i.word, _PROTOCOL.packet_flits
    at, more = Signal(range(size + 1), name="at"), Signal(name="more_flits")
    told = Signal.like(word.descriptor.sequence, name="told")
    here = Signal(range(size + 1), name="here")
    c.m.d.comb += here.eq(Mux(word.first, 0, at))
    with c.m.If(u.i.valid):
        c.m.d.sync += [at.eq(here + 1), more.eq(~word.last), told.eq(word.descriptor.sequence)]
    c.assume(~u.i.valid | word.first | (more & (word.descriptor.sequence == told)))
    c.assume(~u.i.valid | word.last | (here != size - 1))
    return here


def _one_flow(c: Harness, u: Any) -> None:
    """Assume that the flow never changes, and that all flits and messages are about it."""
    flow = c.constant(len(u.flow.as_value()), "the_flow")
    c.assume(u.flow.as_value() == flow)
    c.assume(~(u.clear | u.forget.any()))
    for valid, said in ((u.i.valid, u.i.word.descriptor), (u.ask.valid, u.ask.payload)):
        c.assume(~valid | same_flow(SPEC, u.flow, said.phase, said.source))
    # The flow is looked up in the first cycle after a reset.
    settled = c.delayed(1, 1, reset=True)
    c.assume(settled | ~(u.i.valid | u.ask.valid))


@prove(
    lambda: FlowReceiver(spec=SPEC),
    shows="The window of a destination stays correct when packet numbers wrap, whatever arrives. "
    "A flit is accepted exactly if it is the next one. Each packet of the window before it is "
    "acknowledged again and requests nothing. Any other packet is missing, and causes a nack.",
    omits="changing flows; flits of other flows; numbers of more than 3 bits, windows of more than "
    "2 packets, acks of several packets",
    mutant=far_edge_is_missing,
    fast=False,
)
def receiver_window_wraps(c: Harness, u: Any) -> None:
    m, word, said = c.m, u.i.word, u.message.payload
    _one_flow(c, u)
    here = _packets_in_order(c, u)
    number = Signal.like(said.sequence, name="next_number")
    index = Signal(range(_PROTOCOL.packet_flits + 1), name="next_index")
    behind, mine = Signal.like(number, name="behind"), Signal(name="mine")
    again, due = Signal(name="again"), Signal(name="due")
    accepted, missing, more = (Signal(name=one) for one in ("accepted", "missing", "rest_due"))
    unicast = word.descriptor.phase == _PROTOCOL.online
    m.d.comb += [
        mine.eq(
            u.i.valid
            & u.i.ready
            & (word.descriptor.generation == u.flow.generation)
            & (~unicast | (word.descriptor.destination == u.address))
        ),
        behind.eq(number - word.descriptor.sequence),
        due.eq(behind == 0),
        again.eq(((behind != 0) & (behind <= _WINDOW)) | (due & (here < index))),
        accepted.eq(mine & due & (here == index) & ~u.enough),
        missing.eq((mine & ~accepted & ~again & ~u.enough) | (u.broken & more)),
    ]
    with m.If(u.i.valid):
        m.d.sync += more.eq(mine & due & ~word.last & ~u.enough)
    with m.If(accepted):
        m.d.sync += [index.eq(Mux(word.last, 0, index + 1)), number.eq(number + word.last)]
    c.check("accepted", u.came == accepted)
    c.check("number", ~u.message.valid | (said.sequence == number))
    _answers(c, u, mine, again, accepted, missing, u.i.word.last & (accepted | (again & ~due)))
    wrapped = Signal(name="wrapped")
    with m.If(number == (1 << len(number)) - 1):
        m.d.sync += wrapped.eq(1)
    c.cover("wrapped", wrapped & (number == 0) & accepted & word.last)
    c.cover("far_edge", wrapped & (number == 0) & mine & (behind == _WINDOW) & word.last)
    c.cover("beyond_the_edge", wrapped & (number == 0) & missing & (behind == _WINDOW + 1))


def _answers(
    c: Harness,
    u: Any,
    mine: Signal,
    again: Signal,
    accepted: Signal,
    missing: Signal,
    ends: Any,
) -> None:
    """Check that acks and nacks have a reason, and that each reason has an answer."""
    m, said = c.m, u.message.payload
    asked = Signal(name="asked")
    idle = Signal(range(_PROTOCOL.nack_timeout_cycles + 1), name="idle_model")
    pause = Signal(range(_PROTOCOL.packet_timeout_cycles + 1), name="pause_model")
    refused, owes_ack, owes_nack = (
        Signal(name=one) for one in ("refused_model", "owes_ack", "owes_nack")
    )
    m.d.comb += asked.eq(
        u.ask.valid
        & (u.ask.payload.kind == Kind.ASK)
        & (u.ask.payload.generation == u.flow.generation)
    )
    taken = u.message.valid & u.message_ready
    quiet = idle == _PROTOCOL.nack_timeout_cycles
    with m.If(mine):
        m.d.sync += idle.eq(0)
    with m.Elif(~quiet):
        m.d.sync += idle.eq(idle + 1)
    m.d.sync += refused.eq(u.enough & (refused | (mine & ~again)))
    resumed = refused & ~u.enough
    news = missing & ~accepted & (pause == 0)
    with m.If(accepted):
        m.d.sync += pause.eq(0)
    with m.Elif(missing & (pause == 0)):
        m.d.sync += pause.eq(_PROTOCOL.packet_timeout_cycles)
    with m.Elif(pause != 0):
        m.d.sync += pause.eq(pause - 1)
    m.d.sync += [
        owes_ack.eq((owes_ack & ~(taken & (said.kind == Kind.ACK))) | (mine & ends) | asked),
        owes_nack.eq(
            (owes_nack & ~(taken & (said.kind == Kind.NACK))) | news | resumed | (asked & quiet)
        ),
    ]
    c.check("answers", u.message.valid == (owes_ack | owes_nack))
    c.check("kind", ~u.message.valid | (said.kind == Mux(owes_ack, Kind.ACK, Kind.NACK)))
