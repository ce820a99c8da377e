"""Destination of a flow: packets in order, each once, or a request to retransmit."""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.select import selected
from fred_hw.link.arrival import Arrival
from fred_hw.link.message import Message
from fred_hw.link.packet_stream import PayloadStream
from fred_hw.member import member
from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec, check_spec, sized_name
from fred_hw.unit import Unit, place

from .flow import flow_layout, same_flow
from .ledger import Ledger

__all__ = ["FlowReceiver"]


class _Judged(NamedTuple):
    """Classification of a received flit.

    Of the flow, accepted, the end of a packet, after a lost packet, dropped by ``enough``.
    """

    mine: Signal
    came: Signal
    ended: Signal
    lost: Signal
    refused: Signal


class FlowReceiver(Unit):
    """Receive the packets of a flow; see docs/reference/protocol.md.

    Flits are handed on as they arrive, and each is accepted or dropped by itself. When a packet is
    retransmitted, its flits that were accepted before are dropped. Retransmitted packets count for
    acks like others, as the previous ack may be lost; packets of a flow that was configured before
    are answered by an ack, and so are requests for one. Packets of another generation are dropped
    without an answer.

    While the queue is full the link has no credits. It has credits for a packet again after
    ``ack_cycles`` at the latest, whatever the queue holds: so ``enough`` must be high while
    ``buffer_flits`` flits in the queue may wait for something other than memory. Then the packet is
    dropped, and its source gets an answer before its own timeout.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from a flit to the same flit on ``o``, and to the ack or nack that it causes;
        2 to that of a flow which was set before, 1 to ``unknown``.
    Throughput : one flit per cycle in, and out while ``o.ready`` is high; ``i.used`` leaves no
        space for a packet for at most ``ack_cycles + 1`` cycles.
    Paths : ``flow`` to ``message``; ``i``, ``flow`` and ``enough`` to ``came``.
    Reset : forgets all packets and expects number 0.
    """

    address = member(In, lambda u: u.spec.protocol.fields["destination"])
    """Address of this endpoint; unicasts to others are dropped."""
    flow: data.View = member(In, lambda u: flow_layout(u.spec))
    """The flow, with its source for unicasts. Each flow resumes with its next flit, also within a
    packet, and in a new generation with the first flit of packet 0."""
    clear = member(In, 1)
    """Restart the flow's numbers at 0; not in the cycle in which the flow changes."""
    forget = member(In, lambda u: u.spec.protocol.phases)
    """Phases whose numbers restart at 0; that of the configured flow only between packets."""
    enough = member(In, 1)
    """Accept no flit. Flits that would otherwise be accepted are dropped without a nack; when
    ``enough`` falls, a nack requests the packet of the first of them."""
    came = member(Out, 1)
    """High for a cycle for each accepted flit of the flow."""
    i: Arrival = member(In, lambda u: Arrival.signature(u.spec))
    """Flits of the flow's virtual channel."""
    busy = member(In, 1)
    """A flit of any channel arrived less than a quarter of ``nack_timeout_cycles`` ago."""
    broken = member(In, 1)
    """High for a cycle for a flit that does not continue the packet of the previous one."""
    ask: Message = member(In, lambda u: Message.signature(u.spec))
    """Messages from the link. All are ignored except requests for flows that are or were
    configured."""
    o: PayloadStream = member(Out, lambda u: PayloadStream.signature(u.spec))
    """Packets, in order."""
    message: Message = member(Out, lambda u: Message.signature(u.spec))
    """Acks and nacks; an offered message may change until it is taken."""
    message_ready = member(In, 1)
    """The message is taken."""
    unknown = member(Out, 1)
    """High for a cycle for each flit that is dropped because its flow was never configured."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("FlowReceiver", spec)
        self.unit_name = sized_name("flow_receiver", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        spec, word = self.spec, self.i.word
        descriptor = word.descriptor
        expected = Signal.like(descriptor.sequence)
        flit = _Judged(*(Signal(name=name) for name in _Judged._fields))
        here = same_flow(spec, self.flow, descriptor.phase, descriptor.source)
        valid = self.i.valid & (
            (descriptor.phase != spec.protocol.online) | (descriptor.destination == self.address)
        )
        index = Signal(spec.protocol.fields["index"])  # accepted flits of the expected packet
        protocol = spec.protocol
        place_bits = (protocol.packet_flits - 1).bit_length()
        ledger = place(m, "ledger", Ledger(spec=spec, place_bits=place_bits))
        stored_number = ledger.stored[place_bits:]
        depth = protocol.buffer_flits + protocol.packet_flits
        queue = place(m, "queue", Fifo(shape=spec.data_width + 1, depth=depth))
        self._hold(m, queue)
        m.d.comb += [
            flit.mine.eq(
                valid
                & self.i.ready
                & here
                & (descriptor.generation == self.flow.generation)
                & ~ledger.changed
            ),
            ledger.flow.eq(self.flow),
            ledger.write.eq(flit.came),
            ledger.number.eq(
                Mux(
                    word.last,
                    Cat(Const(0, place_bits), expected + 1),
                    Cat((index + 1)[:place_bits], expected),
                )
            ),
            ledger.clear.eq(self.clear),
            ledger.forget.eq(self.forget),
            self.i.ready.eq(queue.i.ready),
            queue.i.valid.eq(flit.came),
            self.came.eq(flit.came),
            queue.i.payload.eq(Cat(word.data, word.last)),
            Cat(self.o.data, self.o.last).eq(queue.o.payload),
            self.o.valid.eq(queue.o.valid),
            queue.o.ready.eq(self.o.ready),
        ]
        anew = Signal()  # restart the configured flow at number 0
        m.d.comb += anew.eq(self.clear | selected(self.flow.phase, list(self.forget)))
        restart = anew | ledger.changed
        self._compare(m, (expected, index), flit, restart)
        resumes = self._is_resumed(m, flit.refused, restart)
        self._answer(m, ledger, expected, flit, resumes, valid & ~here, restart)
        with m.If(restart):
            m.d.sync += [
                expected.eq(Mux(anew, 0, stored_number)),
                index.eq(Mux(anew, 0, ledger.stored[:place_bits])),
            ]

    def _hold(self, m: Module, queue: Fifo) -> None:
        """Hold the link for up to ``ack_cycles`` while the queue has no space for a packet.

        Then the link is lent space for a packet, which the queue has beyond ``buffer_flits``. The
        next flits that leave the queue return it, so that no credit is ever revoked.
        """
        protocol = self.spec.protocol
        size = protocol.packet_flits
        held, left, expired = (Signal(name=name) for name in ("held", "flit_left", "hold_expired"))
        lent = Signal(range(size + 1))
        waited = Signal(range(protocol.ack_cycles + 1), name="held_for")
        m.d.comb += [
            self.i.used.eq(queue.used - lent),
            held.eq(self.i.used > protocol.buffer_flits - size),
            expired.eq(waited == protocol.ack_cycles),
            left.eq(queue.o.valid & queue.o.ready),
        ]
        with m.If(~held):
            m.d.sync += waited.eq(0)
        with m.Elif(~expired):
            m.d.sync += waited.eq(waited + 1)
        with m.If(expired):
            m.d.sync += lent.eq(size)
        with m.Elif(left & (lent != 0)):
            m.d.sync += lent.eq(lent - 1)

    def _compare(
        self, m: Module, progress: tuple[Signal, Signal], flit: _Judged, restart: Value
    ) -> None:
        """Classify a flit of the flow, and count accepted flits."""
        mine, came, ended, lost, away = flit
        protocol, word = self.spec.protocol, self.i.word
        expected, index = progress
        # index of the received flit
        following = Signal.like(index)
        here = Signal.like(index)
        # of the expected packet, or an earlier one
        due = Signal()
        before = Signal()
        old = Signal()
        # more of the expected packet follows
        behind = Signal.like(expected)
        more = Signal()
        m.d.comb += [
            here.eq(Mux(word.first, 0, following)),
            behind.eq(expected - word.descriptor.sequence),
            before.eq((behind != 0) & (behind <= protocol.window_packets)),
            due.eq(behind == 0),
            came.eq(mine & (due & (here == index)) & ~self.enough),
            old.eq(before | (due & (here < index))),
            ended.eq(mine & word.last & (came | before)),
            lost.eq((mine & ~came & ~old & ~self.enough) | (self.broken & more)),
            away.eq(mine & ~old & self.enough),
        ]
        with m.If(self.i.valid):
            m.d.sync += [following.eq(here + 1), more.eq(mine & due & ~word.last & ~self.enough)]
        with m.If(came):
            m.d.sync += index.eq(index + 1)
            with m.If(word.last):
                m.d.sync += [index.eq(0), expected.eq(expected + 1)]
        with m.If(restart):
            m.d.sync += more.eq(0)

    def _answer(
        self,
        m: Module,
        ledger: Ledger,
        expected: Value,
        flit: _Judged,
        resumes: Value,
        stray: Value,
        restart: Value,
    ) -> None:
        """Send nacks, and an ack per interval of packets, when idle, and before a deadline."""
        protocol, ask = self.spec.protocol, self.ask.payload
        unsaid = Signal(range(protocol.ack_interval + 1))
        idle = Signal(range(protocol.nack_timeout_cycles + 1))
        waited = Signal(range(protocol.ack_cycles + 1))
        due_ack = Signal()
        due_nack = Signal()
        acks = Signal()
        full, quiet = unsaid == protocol.ack_interval, idle == protocol.nack_timeout_cycles
        pauses = quiet | (~self.busy & (idle >= protocol.quiet_cycles))
        late = waited == protocol.ack_cycles
        here = same_flow(self.spec, self.flow, ask.phase, ask.source)
        asked = self.ask.valid & (ask.kind == Kind.ASK)
        other = self._other(m, ledger, asked & ~here, stray, acks | (unsaid != 0))
        here &= ask.generation == self.flow.generation
        self._offer(m, ledger, other, acks, due_nack, expected)
        sent = self.message_ready & ~other.any() & ~ledger.changed
        m.d.comb += acks.eq(due_ack | full | ((pauses | late) & (unsaid != 0)))
        with m.If(flit.mine):
            m.d.sync += idle.eq(0)
        with m.Elif(~quiet):
            m.d.sync += idle.eq(idle + 1)
        with m.If((unsaid == 0) | (sent & acks)):
            m.d.sync += waited.eq(0)
        with m.Elif(~late):
            m.d.sync += waited.eq(waited + 1)
        # Acknowledge a packet from the next cycle on, when `expected` has advanced.
        with m.If(sent & acks):
            m.d.sync += [due_ack.eq(0), unsaid.eq(flit.ended)]
        with m.Elif(flit.ended & ~full):
            m.d.sync += unsaid.eq(unsaid + 1)
        with m.If(sent & ~acks):
            m.d.sync += due_nack.eq(0)
        with m.If(asked & here):
            m.d.sync += due_ack.eq(1)
        # A nack while packets still arrive would only make the sender send them twice.
        news = self._is_news(m, flit.lost, flit.came, restart) | resumes
        with m.If((asked & here & quiet) | news):
            m.d.sync += due_nack.eq(1)
        with m.If(restart):
            m.d.sync += [due_ack.eq(0), due_nack.eq(0), unsaid.eq(0)]

    def _is_resumed(self, m: Module, away: Value, restart: Value) -> Value:
        """Return whether flits are accepted again after some were refused."""
        before = Signal(name="refused_before")
        with m.If(restart | ~self.enough):
            m.d.sync += before.eq(0)
        with m.Elif(away):
            m.d.sync += before.eq(1)
        return before & ~self.enough

    def _is_news(self, m: Module, lost: Value, came: Value, restart: Value) -> Value:
        """Return whether to send a nack: limited in rate, and again after progress."""
        cycles = self.spec.protocol.packet_timeout_cycles
        timeout = Signal(range(cycles + 1))
        with m.If(came | restart):
            m.d.sync += timeout.eq(0)
        with m.Elif(lost & (timeout == 0)):
            m.d.sync += timeout.eq(cycles)
        with m.Elif(timeout != 0):
            m.d.sync += timeout.eq(timeout - 1)
        return lost & ~came & (timeout == 0)

    def _other(
        self, m: Module, ledger: Ledger, asked: Value, stray: Value, leaves: Value
    ) -> Signal:
        """Return whether an ack or a nack is due for a flow that was set before.

        Such a flow is kept until it is answered: one at a time, others are lost, which the
        protocol makes up for.
        """
        descriptor, ask = self.i.word.descriptor, self.ask.payload
        kept, new, last = (
            Signal(flow_layout(self.spec), name=f"{name}_flow") for name in ("kept", "new", "last")
        )
        due = Signal(2, name="other_due")
        # Look up the flow a cycle later, as it is known late that no receiver expects the packet.
        names = ("strayed", "stray_ended", "wanted")
        strayed, ended, wanted = (Signal(name=name) for name in names)
        m.d.sync += [
            strayed.eq(stray),
            ended.eq(self.i.word.last),
            wanted.eq(asked),
            new.phase.eq(Mux(self.i.valid, descriptor.phase, ask.phase)),
            new.peer.eq(Mux(self.i.valid, descriptor.source, ask.source)),
            new.generation.eq(Mux(self.i.valid, descriptor.generation, ask.generation)),
        ]
        m.d.comb += [
            self.unknown.eq(strayed & ~due.any() & ~ledger.other_seen),
            ledger.other.eq(Mux(due.any(), kept, new)),
        ]
        m.d.sync += last.eq(self.flow)
        with m.If(ledger.changed & leaves):
            m.d.sync += [kept.eq(last), due.eq(0b01)]
        with m.Elif(due.any() & self.message_ready):
            m.d.sync += due.eq(Mux(due.all(), 0b10, 0))
        with m.Elif(~due.any() & (wanted | (strayed & ended))):
            m.d.sync += [
                kept.eq(ledger.other),
                due.eq(Cat(ledger.other_known, ledger.other_known & ~strayed)),
            ]
        # Do not acknowledge a forgotten number: an ack of 0 may mean 256 packets.
        answered = data.View(
            flow_layout(self.spec), Mux(ledger.changed & leaves, last, ledger.other)
        )
        again = same_flow(self.spec, self.flow, answered.phase, answered.peer)
        again &= ledger.changed & (answered.generation != self.flow.generation)
        with m.If(self.forget.any() | again):
            m.d.sync += due.eq(0)
        return due

    def _offer(
        self, m: Module, ledger: Ledger, other: Value, acks: Value, due_nack: Value, expected: Value
    ) -> None:
        """Offer the message that is due, that of a previously set flow first."""
        message, waits = self.message.payload, other.any()
        other_number = ledger.other_stored[ledger.place_bits :]
        flow = data.View(flow_layout(self.spec), Mux(waits, ledger.other, self.flow))
        m.d.comb += [
            self.message.valid.eq(waits | ((acks | due_nack) & ~ledger.changed)),
            message.kind.eq(Mux(Mux(waits, other[0], acks), Kind.ACK, Kind.NACK)),
            message.phase.eq(flow.phase),
            message.destination.eq(flow.peer),
            message.source.eq(self.address),
            message.sequence.eq(Mux(waits, other_number, expected)),
            message.generation.eq(flow.generation),
        ]
