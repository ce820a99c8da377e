"""Acks, nacks and ack requests of flows: merged, forwarded, answered."""

from itertools import pairwise
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fsm import Fsm
from fred_hw.link.descriptor import FLOW
from fred_hw.link.message import Message, message_layout, message_stream
from fred_hw.member import member
from fred_hw.per_class import channels_of
from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .case_queue import CaseQueue
from .flow_progress import FlowProgress, Progress
from .message_queue import MessageQueue
from .phase_table import TableRead, restart_layout
from .ports.signatures import Due, Event, port_bits

__all__ = ["STATES", "Acknowledger"]

STATES = ("reset", "pick", "look", "gather", "compare", "measure", "serve", "answer", "ask")
"""States of ``Acknowledger``, in the order of the bits of its signal ``state``."""


class _Answer(NamedTuple):
    """A reply, and the ports it goes to."""

    targets: Signal
    kind: Signal
    number: Signal


class _Served(NamedTuple):
    """The case being served, with its port as a one-hot bit."""

    case: data.View
    mine: Signal


class _Order(NamedTuple):
    """Ports that get a new expected number, with the generation of the flow."""

    targets: Signal
    generation: Signal


class _Change(NamedTuple):
    """A changed number of a phase: ports whose ack it is, and ports that expect it.

    ``place`` is that of the phase in the memory of acks.
    """

    key: Signal
    place: Signal
    number: Signal
    acked_by: Signal
    order: _Order


class Acknowledger(Unit):
    """Serve one message or event at a time.

    - Ack from an output of a flow: when the smallest ack of the flow's outputs has advanced, it is
      sent to its inputs.
    - Nack from an output: its number becomes the expected one at all inputs of the flow, and is
      sent to all of them; not again if other outputs send the same soon after.
    - Request from an input: it is sent the expected number and the smallest ack, and outputs that
      have not acknowledged all packets are asked.
    - A packet from an input with a number before the expected one: likewise, but without the
      expected number.
    - A packet from an input with a number after the expected one: it is sent the expected number.

    A message of a generation other than the entry's changes nothing. Replies have the entry's
    generation. A message about a unicast is forwarded unchanged.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 7 cycles from a message to the first that it causes and to ``due.write``, 6 to
        ``retransmit``, 3 to the same one about a unicast; 1 from ``restart`` to ``due.write``.
    Throughput : one message in 6 cycles, one that is answered in 8, one that changes nothing as it
        is of another generation in 3, one about a unicast in 2; none in the 2 cycles of a restart.
    Paths : ``restart`` to ``due.key``.
    Reset : starts all phases' numbers at 0, which takes a cycle for each and one more.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    message: list[Message] = member(
        In, lambda u: Message.signature(u.spec), array=lambda u: u.spec.ports
    )
    """Messages from the neighbours."""
    exits: data.View = member(In, lambda u: data.ArrayLayout(port_bits(u.spec), u.spec.ports))
    """Ports by which messages about unicasts leave."""
    event: list[Event] = member(In, lambda u: Event.signature(u.spec), array=lambda u: u.spec.ports)
    """Events of the input ports."""
    restart: stream.Interface = member(In, lambda u: stream.Signature(restart_layout(u.spec)))
    """Flows whose numbers restart at 0, and their generation."""
    flows: TableRead = member(Out, lambda u: TableRead.signature(u.spec))
    """Phase to be looked up."""
    due: list[Due] = member(In, lambda u: Due.signature(u.spec), array=lambda u: u.spec.ports)
    """Expected numbers at the ports, with their generation; no packet may start while one is
    written."""
    reply: list[stream.Interface] = member(
        Out, lambda u: message_stream(u.spec), array=lambda u: u.spec.ports
    )
    """Messages to the neighbours."""
    retransmit = member(Out, lambda u: u.spec.ports)
    """High for a cycle for each source that has to retransmit."""
    lost = member(Out, lambda u: u.spec.ports)
    """High for a cycle when a message from or to a port is lost; see ``MessageQueue``."""
    ready = member(Out, 1)
    """Low after a reset until the last number is written."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Acknowledger", spec)
        self.unit_name = f"acknowledger_{spec.shape}_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        spec, ports = self.spec, self.spec.ports
        numbers = data.ArrayLayout(spec.protocol.fields["sequence"], ports)
        acked = m.submodules.acked = Memory(shape=numbers, depth=spec.protocol.phases, init=[])
        read = acked.read_port()
        stored = acked.write_port()
        cases = place(m, "cases", CaseQueue(spec=spec))
        for k in range(ports):
            wiring.connect(m, wiring.flipped(self.message[k]), cases.message[k])
            wiring.connect(m, wiring.flipped(self.event[k]), cases.event[k])
        m.d.comb += cases.exits.eq(self.exits)
        case, mine = served = _Served(cases.served, Signal(ports, name="mine"))
        m.d.comb += mine.eq(1 << case.port)
        change = self._address(m, case, read)
        m.d.comb += [stored.addr.eq(change.place), stored.en.eq(change.acked_by.any())]
        for k in range(ports):
            # The looked-up word is still there, and is written back whole.
            m.d.comb += stored.data[k].eq(Mux(change.acked_by[k], change.number, read.data[k]))
        generation = self.flows.entry.generation
        stale = Signal()
        m.d.comb += stale.eq(case.of_neighbour & (case.generation != generation))
        m.d.comb += change.order.generation.eq(generation)
        fsm = Fsm(m, *STATES)
        flow = place(m, "progress", FlowProgress(spec=spec))
        m.d.comb += [
            flow.served.eq(case),
            flow.inputs.eq(self.flows.entry.inputs),
            flow.outputs.eq(self.flows.entry.outputs),
            flow.due.eq(Cat(due.due for due in self.due)),
            flow.acked.eq(read.data),
            flow.gather.eq(fsm.ongoing("gather")),
            read.en.eq(fsm.ongoing("look")),
            self.flows.enable.eq(fsm.ongoing("look")),
        ]
        self._pick(m, fsm, cases, change)
        for before, after in pairwise(STATES[STATES.index("look") : STATES.index("answer")]):
            with fsm.state(before):
                fsm.go(after)
                if before == "gather":
                    with m.If(stale):
                        fsm.go("pick")
        answer = self._serve(m, fsm, served, flow.progress, change)
        for k, due in enumerate(self.due):
            m.d.sync += [
                due.write.eq(change.order.targets[k]),
                due.at.eq(change.key),
                due.number.eq(change.number),
                due.generation.eq(change.order.generation),
            ]
        self._reply(m, case, answer, generation, cases.lost)

    def _address(self, m: Module, case: data.View, read: Any) -> _Change:
        """Look up the phase of a case; return the change, without target ports yet."""
        ports = self.spec.ports
        change = _Change(
            Signal.like(self.flows.number, name="write_at"),
            Signal.like(read.addr, name="read_at"),
            Signal.like(case.number, name="case_number"),
            Signal(ports, name="acked_by"),
            _Order(
                Signal(ports, name="order_targets"),
                Signal.like(case.generation, name="order_generation"),
            ),
        )
        m.d.comb += [
            change.key.eq(case.phase),
            read.addr.eq(case.phase),
            change.place.eq(read.addr),
            change.number.eq(case.number),
            self.flows.number.eq(case.phase),
        ]
        m.d.comb += [due.key.eq(change.key) for due in self.due]
        return change

    def _pick(self, m: Module, fsm: Fsm, cases: CaseQueue, change: _Change) -> None:
        """Restart numbers at 0 (those of all phases after a reset), and take the next case."""
        phases = self.spec.protocol.phases
        everyone = (1 << self.spec.ports) - 1
        walk = Signal(range(phases))

        def start_at_0(flow: Value, generation: Value | int) -> None:
            m.d.comb += [change.number.eq(0), change.key.eq(flow), change.place.eq(flow)]
            m.d.comb += [change.acked_by.eq(everyone), change.order.targets.eq(everyone)]
            m.d.comb += change.order.generation.eq(generation)

        m.d.comb += self.ready.eq(~fsm.ongoing("reset"))
        with fsm.state("reset"):
            start_at_0(walk, 0)
            m.d.sync += walk.eq(walk + 1)
            with m.If(walk == phases - 1):
                fsm.go("pick")
        with fsm.state("pick"):
            m.d.sync += self.restart.ready.eq(self.restart.valid & ~self.restart.ready)
            # The entry is written in the next cycle; a case that is picked then sees it.
            with m.If(self.restart.valid & ~self.restart.ready):
                start_at_0(self.restart.payload.key, self.restart.payload.generation)
            with m.Elif(~self.restart.valid):
                m.d.comb += cases.pick.eq(cases.found)
                with m.If(cases.found):
                    fsm.go("look")

    def _serve(
        self, m: Module, fsm: Fsm, served: _Served, flow: Progress, change: _Change
    ) -> _Answer:
        """Determine the reply to a case."""
        ports, (case, mine) = self.spec.ports, served
        answer = _Answer(
            Signal(ports, name="answer_targets"),
            Signal.like(case.kind, name="answer_kind"),
            Signal.like(case.number, name="answer_number"),
        )
        obeyed = Signal()
        retransmits = self._retransmits(m, case, flow, change.key, obeyed)
        with fsm.state("look"), m.If(case.passes):
            _send(m, answer, 1 << case.exit, case.kind, case.number)
            fsm.go("pick")
        with fsm.state("serve"):
            fsm.go("pick")
            with m.If(case.from_input):
                # A source of late packets reaches the expected number by itself.
                targets = Mux(case.nacks, mine & flow.inputs, 0)
                _send(m, answer, targets, Kind.NACK, flow.due)
                with m.If(case.late):
                    fsm.go("answer")
            with m.Elif(case.kind == Kind.ACK):
                news = flow.moved & (flow.after < flow.before)
                targets = flow.inputs & news.replicate(ports)
                _send(m, answer, targets, Kind.ACK, flow.due - flow.after)
                m.d.comb += change.acked_by.eq(mine & flow.moved.replicate(ports))
            with m.Elif(retransmits):
                _send(m, answer, flow.inputs, Kind.NACK, case.number)
                m.d.comb += [obeyed.eq(1), self.retransmit.eq(flow.inputs)]
                m.d.comb += change.order.targets.eq(flow.inputs)
        with fsm.state("answer"):
            _send(m, answer, mine & flow.inputs, Kind.ACK, flow.due - flow.before)
            fsm.go("ask")
        with fsm.state("ask"):
            _send(m, answer, Cat(lag != 0 for lag in flow.lag), Kind.ASK, 0)
            fsm.go("pick")
        return answer

    def _retransmits(
        self, m: Module, case: data.View, flow: Progress, key: Value, obeyed: Value
    ) -> Value:
        """Return whether to act on a nack, as all outputs may request the same packet."""
        pause = self.spec.protocol.packet_timeout_cycles // 2
        again = Signal()
        recent = Signal(range(pause + 1))
        last_key = Signal.like(key)
        last_number = Signal.like(case.number)
        back = Signal.like(case.number)
        m.d.comb += [
            back.eq(flow.due - case.number),
            again.eq((recent != 0) & (last_key == key) & (last_number == case.number)),
        ]
        with m.If(recent != 0):
            m.d.sync += recent.eq(recent - 1)
        with m.If(obeyed):
            m.d.sync += [last_key.eq(key), last_number.eq(case.number), recent.eq(pause)]
        return (back != 0) & (back <= flow.before) & ~again

    def _reply(
        self, m: Module, case: data.View, answer: _Answer, generation: Value, lost: Value
    ) -> None:
        """Queue a message at each of its target ports."""
        layout = message_layout(self.spec)
        for k, reply in enumerate(self.reply):
            queue = place(
                m, f"replies_{k}", MessageQueue(layout=layout, channels=channels_of(self))
            )
            wiring.connect(m, queue.o, wiring.flipped(reply))
            m.d.comb += [
                queue.i.valid.eq(answer.targets[k]),
                queue.i.payload.kind.eq(answer.kind),
                *(queue.i.payload[name].eq(case[name]) for name in FLOW),
                queue.i.payload.sequence.eq(answer.number),
                queue.i.payload.generation.eq(generation),
                self.lost[k].eq(lost[k] | queue.lost),
            ]


def _send(
    m: Module, answer: _Answer, targets: Value, kind: Value | Kind, number: Value | int
) -> None:
    """Set the reply to some ports in this state."""
    m.d.comb += [answer.targets.eq(targets), answer.kind.eq(kind), answer.number.eq(number)]
