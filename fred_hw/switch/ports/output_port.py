"""Output port: a queue behind the interconnect, which never has to stall."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.select import selected
from fred_hw.link.crc import FlitCrc
from fred_hw.link.descriptor import about_layout
from fred_hw.link.flit import CRC
from fred_hw.link.framer import Framer, frame_layout, framed_signature
from fred_hw.link.message import message_signature
from fred_hw.link.packet_stream import packet_signature
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

__all__ = ["OutputPort"]

COUNT = len(DATA_CIRCUITS)


class OutputPort(Unit):
    """Take flits as they come out of the interconnect, and promise room before they go in.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    latency : int
        Cycles that the interconnect takes.

    Members
    -------
    room : Out(3)
        For each circuit whether a largest packet may start: there is room here beside all that
        was promised and, with the link layer, in the next receiver.
    start : In(1)
        Promise that to a packet; high for one cycle, with its first flit or before it.
    fire, last : In(1)
        A flit for this port enters the interconnect; it ends its packet.
    bad : In(1)
        With the link layer: the packet that ends must not be used.
    circuit, about : In
        What the packet is, with ``start``.
    valid, data : In
        What the interconnect gives this port.
    o : Out(framed flit), or Out(packet stream) without the link layer
        Flits to outside.
    message, message_ready : In, Out(1)
        With the link layer: a control message to send.
    limit, synced, granted, granted_circuit, granted_limit : In
        With the link layer: from this port's ``InputPort``.
    given : Out(1)
        High for a cycle per data flit that leaves.

    Timing
    ------
    Latency : 2 cycles with the link layer, else 1, from a flit given to the same flit offered.
    Throughput : one flit per cycle; packet follows packet without a gap while ``o.ready`` is high.
    Paths : none.
    Reset : forgets all packets and promises.
    """

    def __init__(self, *, spec: SwitchSpec, latency: int) -> None:
        self.spec, self.latency = spec, latency
        protocol = spec.protocol
        self.unit_name = (
            f"output_port_w{spec.data_width}_p{spec.ports}_l{latency}_{protocol.suffix}"
        )
        members = {
            "room": Out(COUNT),
            "start": In(1),
            "fire": In(1),
            "last": In(1),
            "circuit": In(2),
            "about": In(about_layout(spec)),
            "valid": In(1),
            "data": In(spec.data_width),
            "given": Out(1),
        }
        if protocol.link:
            ticket = protocol.fields(spec.ports)["ticket"]
            members |= {
                "o": Out(framed_signature(spec)),
                "bad": In(1),
                "message": In(message_signature(spec)),
                "message_ready": Out(1),
                "limit": In(data.ArrayLayout(ticket, COUNT)),
                "synced": In(COUNT),
                "granted": In(1),
                "granted_circuit": In(2),
                "granted_limit": In(ticket),
            }
        else:
            members["o"] = Out(packet_signature(spec))
        super().__init__(members)

    def build(self, platform: object) -> Module:
        m = Module()
        spec, protocol = self.spec, self.spec.protocol
        # What is inside the interconnect and around the queue, and two packets.
        depth = self.latency + 4 + 2 * protocol.packet_flits
        promised = Signal(range(depth + 1))  # flits that have room, come or not
        index = Signal(range(protocol.packet_flits))  # of the flit that goes in
        gone, room = Signal(), Signal()
        spare = Signal(range(protocol.packet_flits + 1))
        m.d.comb += room.eq(promised <= depth - protocol.packet_flits)
        with m.If(self.fire):
            m.d.sync += index.eq(index + 1)
            with m.If(self.last):
                # A short packet gives back the room that it did not take.
                m.d.sync += index.eq(0)
                m.d.comb += spare.eq(protocol.packet_flits - 1 - index)
        taken = self.start.replicate(len(promised)) & protocol.packet_flits
        m.d.sync += promised.eq(promised + taken - spare - gone)
        frame = Signal(frame_layout(spec))
        about = Signal(about_layout(spec), reset_less=True)
        m.d.comb += [
            frame.last.eq(self.last),
            frame.circuit.eq(self.circuit),
            frame.about.eq(Mux(self.start, self.about, about)),
        ]
        with m.If(self.start):
            m.d.sync += about.eq(self.about)
        if protocol.link:
            ticket = self._credits(m, room)
            m.d.comb += [frame.bad.eq(self.bad), frame.index.eq(index), frame.ticket.eq(ticket)]
        else:
            m.d.comb += self.room.eq(room.replicate(COUNT))
        expected, late = self._carried(m, self.fire, frame)
        if protocol.link:
            self._frame(m, depth, expected, late, gone)
        else:
            self._queue(m, depth, expected, late, gone)
        return m

    def _carried(self, m: Module, fire: Value, frame: Any) -> tuple[Value, Any]:
        """Return whether a flit leaves the interconnect, and what was known when it entered."""
        for cycle in range(self.latency):
            valid = Signal(name=f"expected_q{cycle + 1}")
            register = Signal(frame_layout(self.spec), name=f"frame_q{cycle + 1}", reset_less=True)
            m.d.sync += [valid.eq(fire), register.eq(frame)]
            fire, frame = valid, register
        return fire, frame

    def _credits(self, m: Module, room: Value) -> Value:
        """Say which circuits the next receiver has room on; return the ticket of the packet."""
        protocol = self.spec.protocol
        bits = len(self.granted_limit)
        tickets: list[Value] = []
        self._owed: list[Value] = []  # circuits that not all credits are back of
        for number in range(COUNT):
            following = Signal(bits, name=f"ticket_{number}")
            limit = Signal(bits, name=f"limit_{number}", init=protocol.buffer_packets)
            credits = Signal(bits, name=f"credits_{number}")
            m.d.comb += [
                credits.eq(limit - following),
                self.room[number].eq(room & (credits != 0) & (credits <= protocol.buffer_packets)),
            ]
            with m.If(self.granted & (self.granted_circuit == number)):
                m.d.sync += limit.eq(self.granted_limit)
            with m.If(self.start & (self.circuit == number)):
                m.d.sync += following.eq(following + 1)
            tickets.append(following)
            self._owed.append(credits != protocol.buffer_packets)
        self._tickets = tickets
        held, ticket = Signal(bits), Signal(bits)
        m.d.comb += ticket.eq(Mux(self.start, selected(self.circuit, tickets), held))
        m.d.sync += held.eq(ticket)
        return ticket

    def _queue(self, m: Module, depth: int, expected: Value, frame: Any, gone: Signal) -> None:
        """Queue flits behind the interconnect; without the link layer."""
        names = ("phase", "peer")
        words = [self.data, frame.last, frame.circuit, *(frame.about[name] for name in names)]
        outs = [self.o.data, self.o.last, self.o.circuit, *(getattr(self.o, n) for n in names)]
        queue = place(m, "queue", Fifo(shape=len(Cat(words)), depth=depth))
        m.d.comb += [
            queue.i.valid.eq(expected),
            queue.i.payload.eq(Cat(words)),
            queue.o.ready.eq(self.o.ready),
            self.o.valid.eq(queue.o.valid),
            Cat(outs).eq(queue.o.payload),
            gone.eq(queue.o.valid & self.o.ready),
            self.given.eq(gone),
        ]

    def _frame(
        self,
        m: Module,
        depth: int,
        expected: Value,
        frame: Any,
        gone: Signal,
    ) -> None:
        """Compute CRCs, queue flits, and send them; with the link layer."""
        spec = self.spec
        check = place(m, "check", FlitCrc(data_width=spec.data_width))
        valid, known = Signal(), Signal(frame_layout(spec), reset_less=True)
        flit = Signal(spec.data_width, reset_less=True)
        m.d.comb += check.word[len(check.word) - spec.data_width :].eq(self.data)
        m.d.sync += [valid.eq(expected), known.eq(frame), flit.eq(self.data)]
        # What was promised but did not come would never leave: it is sent as broken.
        m.d.sync += known.bad.eq(frame.bad | ~self.valid)
        width = spec.data_width + CRC.crc_width + frame_layout(spec).size
        queue = place(m, "queue", Fifo(shape=width, depth=depth))
        framer = place(m, "framer", Framer(spec=spec))
        offset = spec.data_width + CRC.crc_width
        m.d.comb += [
            queue.i.valid.eq(valid),
            queue.i.payload[: spec.data_width].eq(flit),
            queue.i.payload[spec.data_width : offset].eq(check.crc),
            queue.i.payload[offset:].eq(known.as_value()),
            framer.valid.eq(queue.o.valid),
            framer.data.eq(queue.o.payload[: spec.data_width]),
            framer.crc.eq(queue.o.payload[spec.data_width : offset]),
            framer.frame.as_value().eq(queue.o.payload[offset:]),
            queue.o.ready.eq(framer.ready),
            gone.eq(queue.o.valid & framer.ready),
            self.given.eq(gone),
            framer.synced.eq(self.synced),
            framer.limit.eq(self.limit),
            self.message_ready.eq(framer.message_ready),
            *(
                getattr(framer.message, name).eq(getattr(self.message, name))
                for name in ("valid", "kind", "phase", "peer", "sequence")
            ),
            *(
                getattr(self.o, name).eq(getattr(framer.o, name))
                for name in ("valid", "header", "data", "crc", "last")
            ),
            framer.o.ready.eq(self.o.ready),
        ]
        for number in range(COUNT):
            m.d.comb += [
                framer.owed[number].eq(self._owed[number]),
                framer.ticket[number].eq(self._tickets[number]),
            ]
            inside = Signal(range(depth + 1), name=f"inside_{number}")  # packets
            begins = self.start & (self.circuit == number)
            ends = gone & framer.frame.last & (framer.frame.circuit == number)
            m.d.sync += inside.eq(inside + begins - ends)
            m.d.comb += framer.quiet[number].eq(inside == 0)
