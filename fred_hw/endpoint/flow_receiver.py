"""Destination of a flow: packets in order, each once, or a request to go back."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.link.descriptor import queued_layout
from fred_hw.link.message import Message, message_signature
from fred_hw.protocol import KINDS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .ledger import Ledger
from .payload import PayloadStream, concerns, payload_signature

__all__ = ["FlowReceiver"]


class FlowReceiver(Unit):
    """Receive the packets of a flow; see docs/protocol.md.

    Flits are handed on as they come. When a packet is sent again, what came of it before is passed
    over. Packets that are sent again count for acks as others do, as the ack before may be lost;
    those of a flow that had its turn before are answered by an ack, and asks about it like others.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; with the link layer.

    Members
    -------
    phase, peer : In
        The flow; changes only between packets. Each goes on with the number it had come to.
    clear : In(1)
        Start the flow's numbers at 0; only between packets, and not in the cycle in which the flow
        changes.
    valid, ready, word : In(1), Out(1), In(queued)
        Flits of the flow's circuit, of a packet in order, though its end may be missing.
    broken : In(1)
        High for a cycle when a flit has come that does not go on the packet of the last one.
    ask : In(message)
        From the link; all but asks about flows that have had their turn are ignored.
    o : Out(payload stream)
        Packets, in order.
    used : Out
        Flits inside.
    message, message_ready : Out(message), In(1)
        Acks and nacks; what is offered may change until it is taken.
    unknown : Out(1)
        High for a cycle per flit of a flow that has not had its turn, which is dropped.

    Timing
    ------
    Latency : 1 cycle from a flit to the same flit on ``o``.
    Throughput : one flit per cycle in, and out while ``o.ready`` is high.
    Paths : what comes in, and the flow, to ``unknown`` and ``message``.
    Reset : forgets all packets and expects number 0.
    """

    phase: Signal
    peer: Signal
    clear: Signal
    valid: Signal
    ready: Signal
    word: data.View
    broken: Signal
    ask: Message
    o: PayloadStream
    used: Signal
    message: Message
    message_ready: Signal
    unknown: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        protocol = spec.protocol
        self.unit_name = f"flow_receiver_w{spec.data_width}_p{spec.ports}_{protocol.suffix}"
        fields = protocol.fields(spec.ports)
        super().__init__(
            {
                "phase": In(fields["phase"]),
                "peer": In(fields["peer"]),
                "clear": In(1),
                "valid": In(1),
                "ready": Out(1),
                "word": In(queued_layout(spec)),
                "broken": In(1),
                "ask": In(message_signature(spec)),
                "o": Out(payload_signature(spec)),
                "used": Out(range(protocol.buffer_flits + 1)),
                "message": Out(message_signature(spec)),
                "message_ready": In(1),
                "unknown": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec, protocol, word = self.spec, self.spec.protocol, self.word
        bits = protocol.fields(spec.ports)
        expected, index = Signal(bits["sequence"]), Signal(bits["index"])
        following, place_ = Signal.like(index), Signal.like(index)  # place of the flit that came
        mine, came, old, lost, ended = (
            Signal(name=name) for name in ("mine", "came", "old", "lost", "ended")
        )
        due, before = Signal(), Signal()  # of the packet that is expected, or of one before
        behind = Signal.like(expected)
        about = word.about
        right = concerns(spec, about.phase, about.peer, self.phase, self.peer)
        ledger = place(m, "ledger", Ledger(spec=spec))
        queue = place(m, "queue", Fifo(shape=spec.data_width + 1, depth=protocol.buffer_flits))
        m.d.comb += [
            mine.eq(self.valid & self.ready & right & ~ledger.changed),
            ledger.phase.eq(self.phase),
            ledger.peer.eq(self.peer),
            ledger.write.eq(came & word.last),
            ledger.number.eq(expected + 1),
            ledger.clear.eq(self.clear),
            place_.eq(Mux(word.first, 0, following)),
            behind.eq(expected - about.sequence),
            before.eq((behind != 0) & (behind <= protocol.window_packets)),
            due.eq(self._is_due(behind)),
            came.eq(mine & self._is_next(due, place_, index)),
            old.eq(before | (due & (place_ < index))),
            ended.eq(mine & word.last & (came | before)),
            self.ready.eq(queue.i.ready),
            self.used.eq(queue.used),
            queue.i.valid.eq(came),
            queue.i.payload.eq(Cat(word.data, word.last)),
            Cat(self.o.data, self.o.last).eq(queue.o.payload),
            self.o.valid.eq(queue.o.valid),
            queue.o.ready.eq(self.o.ready),
        ]
        open_ = Signal()  # more is to come of the packet that is expected
        m.d.comb += lost.eq((mine & ~came & ~old) | (self.broken & open_))
        with m.If(self.valid):
            m.d.sync += [following.eq(place_ + 1), open_.eq(mine & due & ~word.last)]
        with m.If(came):
            m.d.sync += index.eq(index + 1)
            with m.If(word.last):
                m.d.sync += [index.eq(0), expected.eq(expected + 1)]
        stray = self.valid & ~right
        self._answer(m, ledger, expected, mine, came, ended, lost, stray)
        with m.If(self.clear | ledger.changed):
            first = Mux(self.clear, 0, ledger.stored)
            m.d.sync += [expected.eq(first), index.eq(0), open_.eq(0)]
        return m

    def _is_due(self, behind: Value) -> Value:
        """Return whether a packet is the one that is expected."""
        return behind == 0

    def _is_next(self, due: Value, here: Value, index: Value) -> Value:
        """Return whether a flit is the one that is expected."""
        return due & (here == index)

    def _is_asked(self) -> Value:
        """Return whether somebody wants to know where a flow is."""
        return self.ask.valid & (self.ask.kind == KINDS.index("ask"))

    def _answer(
        self,
        m: Module,
        ledger: Ledger,
        expected: Signal,
        mine: Value,
        came: Value,
        ended: Value,
        lost: Value,
        stray: Value,
    ) -> None:
        """Send an ack for every interval of packets, for what waits when idle, and nacks."""
        protocol = self.spec.protocol
        unsaid = Signal(range(protocol.ack_interval + 1))
        idle = Signal(range(protocol.idle_cycles + 1))
        patience = Signal(range(protocol.patience_cycles + 1))
        due_ack, due_nack, acks = Signal(), Signal(), Signal()
        full = unsaid == protocol.ack_interval
        tail = (idle == protocol.idle_cycles) & (unsaid != 0)
        asked = self._is_asked()
        ask_here = concerns(self.spec, self.ask.phase, self.ask.peer, self.phase, self.peer)
        sent = self._tell(
            m,
            ledger,
            acks | due_nack,
            acks,
            expected,
            asked & ~ask_here,
            stray,
            acks | (unsaid != 0),
        )
        m.d.comb += acks.eq(due_ack | full | tail)
        with m.If(mine):
            m.d.sync += idle.eq(0)
        with m.Elif(idle != protocol.idle_cycles):
            m.d.sync += idle.eq(idle + 1)
        with m.If(came):
            m.d.sync += patience.eq(0)
        with m.Elif(lost & (patience == 0)):
            m.d.sync += patience.eq(protocol.patience_cycles)
        with m.Elif(patience != 0):
            m.d.sync += patience.eq(patience - 1)
        # What has just come is said from the next cycle on, when `expected` has moved.
        with m.If(sent & acks):
            m.d.sync += [due_ack.eq(0), unsaid.eq(ended)]
        with m.Elif(ended & ~full):
            m.d.sync += unsaid.eq(unsaid + 1)
        with m.If(sent & ~acks):
            m.d.sync += due_nack.eq(0)
        with m.If(asked & ask_here):
            m.d.sync += due_ack.eq(1)
        # While packets come, a nack would only have them sent twice.
        quiet = idle == protocol.idle_cycles
        with m.If((asked & ask_here & quiet) | (lost & ~came & (patience == 0))):
            m.d.sync += due_nack.eq(1)
        with m.If(self.clear | ledger.changed):
            m.d.sync += [due_ack.eq(0), due_nack.eq(0), unsaid.eq(0), patience.eq(0)]

    def _tell(
        self,
        m: Module,
        ledger: Ledger,
        due: Value,
        acks: Value,
        expected: Value,
        asked: Value,
        stray: Value,
        leaves: Value,
    ) -> Value:
        """Offer what is due, that of a flow which had its turn before first.

        Such a flow is kept until it is answered: one at a time, others are lost, which the
        protocol makes up for. Return whether what is due of the flow itself is taken.
        """
        message, about = self.message, self.word.about
        phase, peer = Signal.like(self.phase), Signal.like(self.peer)
        last_phase, last_peer = Signal.like(self.phase), Signal.like(self.peer)
        ack, nack, waits = Signal(), Signal(), Signal()
        m.d.comb += [
            waits.eq(ack | nack),
            self.unknown.eq(stray & ~waits & ~ledger.other_known),
            ledger.other_phase.eq(phase),
            ledger.other_peer.eq(peer),
        ]
        with m.If(~waits):
            m.d.comb += [
                ledger.other_phase.eq(Mux(stray, about.phase, self.ask.phase)),
                ledger.other_peer.eq(Mux(stray, about.peer, self.ask.peer)),
            ]
        m.d.sync += [last_phase.eq(self.phase), last_peer.eq(self.peer)]
        with m.If(ledger.changed & leaves):
            m.d.sync += [phase.eq(last_phase), peer.eq(last_peer), ack.eq(1), nack.eq(0)]
        with m.Elif(waits & self.message_ready):
            m.d.sync += [ack.eq(0), nack.eq(nack & ack)]
        with m.Elif(~waits & (asked | (stray & self.word.last))):
            m.d.sync += [
                phase.eq(ledger.other_phase),
                peer.eq(ledger.other_peer),
                ack.eq(ledger.other_known),
                nack.eq(ledger.other_known & ~stray),
            ]
        first = Mux(waits, ack, acks)
        m.d.comb += [
            message.valid.eq(waits | (due & ~ledger.changed)),
            message.kind.eq(Mux(first, KINDS.index("ack"), KINDS.index("nack"))),
            message.phase.eq(Mux(waits, phase, self.phase)),
            message.peer.eq(
                Mux(message.phase == self.spec.protocol.online, Mux(waits, peer, self.peer), 0)
            ),
            message.sequence.eq(Mux(waits, ledger.other_stored, expected)),
        ]
        return self.message_ready & ~waits & ~ledger.changed
