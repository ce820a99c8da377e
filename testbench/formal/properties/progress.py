"""Properties by which a flow progresses after a loss: repeats are answered, and in time."""

from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal

from fred_hw.endpoint.flow import same_flow
from fred_hw.endpoint.flow_sender import FlowSender
from fred_hw.gates.select import one_hot_mux, selected
from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec
from fred_hw.switch.acknowledger import STATES, Acknowledger
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.property import Bound, prove
from testbench.formal.sizes import narrow_link

__all__: list[str] = []

_PROTOCOL = narrow_link(
    {"sequence": 3, "destination": 1, "source": 1}, urgency_classes=1, packet_flits=1
)
SPEC = SwitchSpec(ports=2, lanes=1, format="int8", protocol=_PROTOCOL)
_PORTS = SPEC.ports
_BITS = _PROTOCOL.fields["sequence"]

_CASE_CYCLES = len(STATES) - STATES.index("pick")
"""Cycles of the longest case: one in each state after the reset."""

_TURN_CYCLES = 2 * _PORTS * _CASE_CYCLES
"""Most cycles until an event is taken: one case of the messages and of the events of each port."""


def _events_assumed(c: Harness, u: Any) -> None:
    """Assume events as input ports signal them: each stays until it is taken or outdated."""
    for k, (event, due) in enumerate(zip(u.event, u.due, strict=True)):
        now = Cat(event.late, event.early, event.key)
        before, stays = Signal(len(now), name=f"event_before_{k}"), Signal(name=f"stays_{k}")
        there = event.late | event.early
        ends = event.taken | due.write
        c.m.d.sync += [before.eq(now), stays.eq(there & ~ends)]
        ended = c.delayed(ends, 1, reset=True)
        c.assume(~stays | (now == before))
        c.assume(~ended | ~there)
        c.assume(~(event.late & event.early))
        c.assume(~there | (event.key == 0))


def _surroundings_assumed(c: Harness, u: Any) -> None:
    """Assume a constant entry, messages as links deliver them, and outputs that take replies."""
    _events_assumed(c, u)
    entry = u.flows.entry
    constant = c.constant(len(entry.as_value()), "the_entry")
    c.assume(entry.as_value() == constant)
    # All inputs of a flow expect one number.
    c.assume((entry.inputs[0] != entry.inputs[1]) | (u.due[0].due == u.due[1].due))
    for said, reply in zip(u.message, u.reply, strict=True):
        c.assume(~said.valid | (said.payload.phase <= _PROTOCOL.online))
        c.assume(reply.ready)


def _sent(u: Any, kind: Kind) -> Any:
    """Return for each port whether a message of a kind about the phase is sent to it."""
    words = [(reply.valid, reply.payload) for reply in u.reply]
    return Cat(valid & (word.kind == kind) & (word.phase == 0) for valid, word in words)


@broken(Acknowledger, {})
def no_answer(m: Module, sound: Any, ports: Any) -> None:
    """A repeated packet is taken note of, but not acknowledged."""
    for mine, theirs in zip(ports.event, sound.event, strict=True):
        m.d.comb += [theirs.late.eq(0), theirs.early.eq(mine.late | mine.early)]


@prove(
    lambda: Acknowledger(spec=SPEC),
    shows=f"A repeated packet is answered in time. Its event is taken within {_TURN_CYCLES} "
    "cycles, whatever messages and other events arrive: one case for the messages and one for "
    "the events of each port. The ack to its source follows 6 cycles later. "
    "It has the number that is due, or else an output is asked. A packet that is too "
    "early is answered by a nack with the number that is due.",
    omits="cycles of a restart, which do not count; acks that are kept; other numbers of ports and "
    "phases; outputs that do not take replies at once",
    mutant=no_answer,
    fast=False,
)
def repeats_are_answered_in_time(c: Harness, u: Any) -> None:
    m, entry = c.m, u.flows.entry
    _surroundings_assumed(c, u)
    k = c.constant(1, "k")
    event = selected(k, [Cat(event.late, event.early, event.taken) for event in u.event])
    late, early, taken = event
    waited = Signal(range(_TURN_CYCLES + 2), name="waited")
    with m.If(~(late | early) | taken):
        m.d.sync += waited.eq(0)
    with m.Elif((waited != _TURN_CYCLES + 1) & ~u.restart.valid & u.ready):
        m.d.sync += waited.eq(waited + 1)
    c.show(waited, "waited_cycles")
    c.check("taken", ~(late | early) | (waited <= _TURN_CYCLES))
    mine = taken & (selected(k, list(entry.inputs)) != 0)
    # In the cycle after the look-up; all inputs of a flow expect one number.
    due = c.delayed(selected(k, [due.due for due in u.due]), 1)
    nacks, acks, asks = (_sent(u, kind) for kind in (Kind.NACK, Kind.ACK, Kind.ASK))
    number = selected(k, [reply.payload.sequence for reply in u.reply])
    refused = c.delayed(mine & early, 5, reset=True)
    c.check("nacked", ~refused | (selected(k, list(nacks)) & (number == c.delayed(due, 3))))
    answers = c.delayed(mine & late, 6, reset=True)
    whole = number == c.delayed(due, 4)
    c.check("acked", ~answers | selected(k, list(acks)))
    behind = c.delayed(answers & ~whole, 1, reset=True)
    c.check("asked", ~c.delayed(answers, 1, reset=True) | (behind == asks.any()))
    c.cover("waits", (late | early) & (waited == _TURN_CYCLES - _CASE_CYCLES))
    c.cover("acked", answers & whole)
    c.cover("asked", answers & ~whole)


class _Case(NamedTuple):
    """The latest message or event: its port, and what it says about the phase."""

    port: Signal
    kind: Signal
    number: Signal
    mine: Signal
    late: Signal


def _one_case(c: Harness, u: Any) -> _Case:
    """Assume that messages and events come one by one; return the latest one."""
    m, age = c.m, Signal(range(_CASE_CYCLES + 1), name="age")
    sizes = (_PORTS, 3, _BITS, 1, 1)
    case = _Case(
        *(
            Signal(bits, name=f"case_{name}")
            for bits, name in zip(sizes, _Case._fields, strict=True)
        )
    )
    came: list[Any] = []
    for k, (said, event) in enumerate(zip(u.message, u.event, strict=True)):
        there, word = event.late | event.early, said.payload
        rises = there & ~c.delayed(there, 1, reset=True)
        came += [said.valid, rises]
        here = (word.phase == 0) & (word.generation == u.flows.entry.generation)
        asks = word.kind == Kind.ASK
        values = (
            (1 << k, word.kind, word.sequence, here, asks),
            (1 << k, Kind.ASK, 0, 1, event.late),
        )
        for comes, fields in zip((said.valid, rises), values, strict=True):
            with m.If(comes):
                m.d.sync += [one.eq(value) for one, value in zip(case, fields, strict=True)]
    word = Cat(came)
    c.assume((word & (word - 1)[: len(word)]) == 0)
    c.assume(~word.any() | ((age == 0) & u.ready))
    with m.If(word.any()):
        m.d.sync += age.eq(_CASE_CYCLES)
    with m.Elif(age != 0):
        m.d.sync += age.eq(age - 1)
    return case


@broken(Acknowledger, {})
def acks_one_less(m: Module, sound: Any, ports: Any) -> None:
    """An ack counts as the one for a packet less."""
    for mine, theirs in zip(ports.message, sound.message, strict=True):
        with m.If(mine.payload.kind == Kind.ACK):
            m.d.comb += theirs.payload.sequence.eq(mine.payload.sequence - 1)


def _acks_kept(c: Harness, u: Any) -> None:
    """Check answers and forwarded acks against the latest ack of each output."""
    m, entry, window = c.m, u.flows.entry, _PROTOCOL.window_packets
    _surroundings_assumed(c, u)
    c.assume(~u.restart.valid)
    case = _one_case(c, u)
    asks = case.kind == Kind.ASK
    own = one_hot_mux(
        case.port, [Mux(asks, *ends) for ends in zip(entry.inputs, entry.outputs, strict=True)]
    )
    inputs, outputs = (
        Cat((flow == own) & (own != 0) for flow in flows) for flows in (entry.inputs, entry.outputs)
    )
    gathered = c.delayed(u.flows.enable & case.mine, 1, reset=True)
    served = c.delayed(gathered, 3, reset=True)
    due, most = Signal(_BITS, name="due_now"), Signal(_BITS, name="most")
    with m.If(gathered):
        m.d.sync += due.eq(Mux(inputs[0], u.due[0].due, u.due[1].due))
    lags: list[Any] = []
    for k in range(_PORTS):
        acked = Signal(_BITS, name=f"acked_{k}")
        ahead, behind = (case.number - acked)[:_BITS], (due - acked)[:_BITS]
        moves = served & (case.kind == Kind.ACK) & (case.port & outputs)[k]
        with m.If(moves & (ahead != 0) & (ahead <= window)):
            m.d.sync += acked.eq(case.number)
        lags.append(Mux(outputs[k] & (behind <= window), behind, 0))
    m.d.comb += most.eq(Mux(lags[0] > lags[1], *lags))
    acks = _sent(u, Kind.ACK) & Cat(
        reply.payload.sequence == (due - most)[:_BITS] for reply in u.reply
    )
    answered = c.delayed(served & asks & case.late, 2, reset=True)
    forwards = c.delayed(served & (case.kind == Kind.ACK), 1, reset=True) & (
        most < c.delayed(most, 1)
    )
    # A lone message is looked up two cycles later.
    comes = c.delayed(Cat(said.valid for said in u.message).any(), 2, reset=True)
    c.check("served", ~comes | u.flows.enable)
    c.check("answered", ~answered | (acks | ~(case.port & inputs)).all())
    c.check("forwarded", ~forwards | (acks | ~inputs).all())
    c.cover("answered", answered & (most == 1) & (due == window))
    c.cover("forwarded", forwards & inputs.any())


@prove(
    lambda: Acknowledger(spec=SPEC),
    shows="Acks of outputs are kept. A repeated packet, or a request, is answered by the smallest "
    "ack of the outputs of its flow, and an ack that advances the smallest one is sent to all "
    "inputs of the flow.",
    omits="messages that wait: each comes when the previous one is served; restarts; other numbers "
    "of ports and phases; numbers of more than 3 bits",
    mutant=acks_one_less,
    bound=Bound(30, "the reset, acks of both outputs and a repeated packet, each in 9 cycles"),
    fast=False,
)
def smallest_ack_is_kept(c: Harness, u: Any) -> None:
    _acks_kept(c, u)


@prove(
    lambda: Acknowledger(spec=SPEC),
    shows="Acks of outputs are kept, for any number of acks and repeated packets, in a flow from "
    "one port to another. A repeated packet is answered by the latest ack, and an ack that "
    "advances is sent to the input.",
    omits="flows of several outputs; nacks and acks of other phases and generations; messages that "
    "wait; restarts; other numbers of ports and phases; numbers of more than 3 bits",
    mutant=acks_one_less,
    fast=False,
)
def ack_is_kept_for_ever(c: Harness, u: Any) -> None:
    entry = u.flows.entry
    c.assume((Cat(entry.inputs) == 0b0001) & (Cat(entry.outputs) == 0b0100))
    c.assume((entry.generation == 0) & (u.exits.as_value() == 0))
    for said, event in zip(u.message, u.event, strict=True):
        word = said.payload
        c.assume(~Cat(word.phase, word.generation, word.destination, word.source, event.key).any())
    _acks_kept(c, u)


@broken(FlowSender, {})
def waits_for_ever(m: Module, sound: Any, ports: Any) -> None:
    """The source does not retransmit without a nack."""
    m.d.comb += ports.retransmit.eq(sound.retransmit & sound.message.valid)


_TIMEOUT = _PROTOCOL.timeout_cycles


@prove(
    lambda: FlowSender(spec=SPEC),
    shows=f"A source whose packets are not acknowledged retransmits after {_TIMEOUT} cycles, and "
    f"after every {_TIMEOUT + 1} further cycles without an ack, whatever nacks arrive.",
    omits="which packet is retransmitted first, and that the link takes it; changing flows; "
    "other timeouts; numbers of more than 3 bits, windows of more than 2 packets",
    mutant=waits_for_ever,
    bound=Bound(40, "a packet is sent, and two timeouts of 16 cycles pass without an ack"),
    fast=False,
)
def source_retransmits_in_time(c: Harness, u: Any) -> None:
    m, said, bits = c.m, u.message.payload, len(u.message.payload.sequence)
    flow = c.constant(len(u.flow.as_value()), "the_flow")
    c.assume(u.flow.as_value() == flow)
    c.assume(~(u.clear | u.forget.any()))
    c.assume(~u.o.take | u.o.waiting)
    oldest, kept, begun = (Signal(bits, name=f"{name}_model") for name in ("old", "kept", "begun"))
    sending, taken = Signal(name="sending"), Signal(name="taken")
    waited, acked = Signal(range(_TIMEOUT + 2), name="waited"), Signal(name="acked")
    ahead = (said.sequence - oldest)[:bits]
    mine = same_flow(SPEC, u.flow, said.phase, said.source) & (said.generation == u.flow.generation)
    m.d.comb += [
        begun.eq(kept + (taken & (u.o.descriptor.sequence == kept))),
        acked.eq(
            (u.message.valid & mine & (said.kind == Kind.ACK))
            & ((ahead != 0) & (ahead <= (begun - oldest)[:bits]))
        ),
    ]
    m.d.sync += [taken.eq(u.o.take & ~sending), kept.eq(begun)]
    with m.If(u.o.take):
        m.d.sync += sending.eq(~u.o.ends)
    with m.If(acked):
        m.d.sync += oldest.eq(said.sequence)
    due = waited == _TIMEOUT
    with m.If(acked | due | (oldest == begun)):
        m.d.sync += waited.eq(0)
    with m.Else():
        m.d.sync += waited.eq(waited + 1)
    c.check("retransmits", ~due | acked | u.retransmit)
    c.cover("retransmits", due & ~acked & ~u.message.valid)
