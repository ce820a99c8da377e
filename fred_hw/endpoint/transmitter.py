"""Circuits that share a link: the urgent one first, credits, and syncs for those that are lost."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.select import first_of, one_hot_mux
from fred_hw.link.crc import FlitCrc
from fred_hw.link.flit import CRC
from fred_hw.link.framer import Framer, frame_layout, framed_signature
from fred_hw.link.message import Message, message_signature
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .flow_sender import SentFlit, sent_signature

__all__ = ["Transmitter"]

COUNT = len(DATA_CIRCUITS)
DEPTH = 8
"""Flits between a sender and the link: 4 that are on the way, and as many that wait for it."""


class Transmitter(Unit):
    """Put packets of the data circuits and control messages on a link.

    A packet begins when the neighbour has room for it, that of the most urgent circuit first, and
    goes on to its end. Control messages go between its flits.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; with the link layer.

    Members
    -------
    waiting, ends, take, flit : In(3), In(3), Out(3), In(sent flit).array(3)
        The ``FlowSender`` of each circuit.
    granted, granted_circuit, granted_limit, limit, synced : In
        From the ``Deframer`` of the other direction.
    message, message_ready : In(message), Out(1)
        Control messages to send; one that is offered stays until it is taken.
    o : Out(framed flit)
        The link.

    Timing
    ------
    Latency : 3 cycles from a flit taken to the link.
    Throughput : one flit per cycle, without a gap between packets, while there are credits and
        ``o.ready`` is high.
    Paths : ``waiting`` to ``take``, ``message`` to ``o``, ``o.ready`` to ``message_ready``.
    Reset : forgets what is on the way, tickets and limits; the neighbour must be reset with it.
    """

    waiting: Signal
    ends: Signal
    take: Signal
    flit: list[SentFlit]
    granted: Signal
    granted_circuit: Signal
    granted_limit: Signal
    limit: data.View
    synced: Signal
    message: Message
    message_ready: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        self.unit_name = f"transmitter_w{spec.data_width}_p{spec.ports}_{spec.protocol.suffix}"
        ticket = spec.protocol.fields(spec.ports)["ticket"]
        super().__init__(
            {
                "waiting": In(COUNT),
                "ends": In(COUNT),
                "take": Out(COUNT),
                "flit": In(sent_signature(spec)).array(COUNT),
                "granted": In(1),
                "granted_circuit": In(2),
                "granted_limit": In(ticket),
                "limit": In(data.ArrayLayout(ticket, COUNT)),
                "synced": In(COUNT),
                "message": In(message_signature(spec)),
                "message_ready": Out(1),
                "o": Out(framed_signature(spec)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        framer = place(m, "framer", Framer(spec=self.spec))
        busy, circuit = Signal(), Signal(COUNT)  # the packet that is being sent
        chosen, start, room = Signal(COUNT), Signal(COUNT), Signal()
        ticket = Signal.like(self.granted_limit)
        tickets, may, full = self._credits(m, framer, start)
        m.d.comb += [
            chosen.eq(Mux(busy, circuit, first_of(self.waiting & may))),
            self.take.eq(chosen & room.replicate(COUNT)),
            start.eq(self.take & ~busy.replicate(COUNT)),
        ]
        with m.If(self.take.any()):
            m.d.sync += [circuit.eq(chosen), busy.eq(~(self.take & self.ends).any())]
        with m.If(start.any()):
            m.d.sync += ticket.eq(one_hot_mux(start, tickets))
        inside = self._queue(m, framer, circuit, ticket, room)
        # A circuit with a packet that is about to begin or on its way has no need to ask.
        moves = (busy.replicate(COUNT) & circuit) | inside | (self.waiting & may)
        m.d.comb += [
            framer.owed.eq(~full),
            framer.quiet.eq(~moves),
            framer.limit.eq(self.limit),
            framer.synced.eq(self.synced),
            self.message_ready.eq(framer.message_ready),
            framer.o.ready.eq(self.o.ready),
            *(
                getattr(framer.message, name).eq(getattr(self.message, name))
                for name in ("valid", "kind", "phase", "peer", "sequence")
            ),
            *(
                getattr(self.o, name).eq(getattr(framer.o, name))
                for name in ("valid", "header", "data", "crc", "last")
            ),
        ]
        return m

    def _credits(
        self, m: Module, framer: Framer, start: Value
    ) -> tuple[list[Signal], Value, Value]:
        """Return the next tickets, and where a packet may be sent, and where all credits are."""
        most = self.spec.protocol.buffer_packets
        tickets: list[Signal] = []
        may, full = Signal(COUNT), Signal(COUNT)
        for number in range(COUNT):
            ticket = Signal.like(self.granted_limit, name=f"ticket_{number}")
            limit = Signal.like(self.granted_limit, name=f"limit_{number}", init=most)
            credits = Signal.like(self.granted_limit, name=f"credits_{number}")
            m.d.comb += [
                credits.eq(limit - ticket),
                may[number].eq((credits != 0) & (credits <= most)),
                full[number].eq(credits == most),
                framer.ticket[number].eq(ticket),
            ]
            with m.If(self.granted & (self.granted_circuit == number)):
                m.d.sync += limit.eq(self.granted_limit)
            with m.If(start[number]):
                m.d.sync += ticket.eq(ticket + 1)
            tickets.append(ticket)
        return tickets, may, full

    def _queue(
        self, m: Module, framer: Framer, circuit: Value, ticket: Value, room: Signal
    ) -> Value:
        """Compute CRCs and queue flits; return the circuits that have some inside."""
        spec, layout = self.spec, frame_layout(self.spec)
        check = place(m, "check", FlitCrc(data_width=spec.data_width))
        valid, known, frame = Signal(), Signal(), Signal(layout)
        held, payload = Signal(layout, reset_less=True), Signal(spec.data_width)
        flit = Signal(spec.data_width, reset_less=True)
        offset = spec.data_width + CRC.crc_width
        queue = place(m, "queue", Fifo(shape=offset + layout.size, depth=DEPTH))
        for number in range(COUNT):
            with m.If(circuit[number]):
                m.d.comb += frame.circuit.eq(number)
        m.d.comb += [
            payload.eq(one_hot_mux(circuit, [flit.data for flit in self.flit])),
            *(
                getattr(frame, name).eq(
                    one_hot_mux(circuit, [Value.cast(getattr(flit, name)) for flit in self.flit])
                )
                for name in ("last", "about", "index")
            ),
            frame.ticket.eq(ticket),
            check.word[len(check.word) - spec.data_width :].eq(payload),
            queue.i.valid.eq(known),
            queue.i.payload.eq(Cat(flit, check.crc, held)),
            framer.valid.eq(queue.o.valid),
            Cat(framer.data, framer.crc, framer.frame).eq(queue.o.payload),
            queue.o.ready.eq(framer.ready),
        ]
        m.d.sync += [
            valid.eq(self.take.any()),
            known.eq(valid),
            held.eq(frame),
            flit.eq(payload),
        ]
        counts: list[Signal] = []
        for number in range(COUNT):
            count = Signal(range(DEPTH + 1), name=f"inside_{number}")
            gone = queue.o.valid & framer.ready & (framer.frame.circuit == number)
            m.d.sync += count.eq(count + self.take[number] - gone)
            counts.append(count)
        m.d.comb += room.eq(sum(counts) < DEPTH)
        return Cat(count != 0 for count in counts)
