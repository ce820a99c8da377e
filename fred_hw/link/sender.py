"""Sending side of a link: link sequence numbers, CRC, queue and framer."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.fifo import Fifo
from fred_hw.gates.select import one_hot_mux
from fred_hw.gates.stream_register import StreamRegister
from fred_hw.member import member
from fred_hw.protocol import HEADER_BITS
from fred_hw.spec import SwitchSpec, check_spec, sized_name
from fred_hw.unit import Unit, place

from .circuit_credits import CircuitCredits
from .crc import FlitCrc
from .credits import Credits, link_sequence_bits
from .crowding import crowding_layout
from .flit import framed_layout, framed_signature
from .frame import FramedData, checked_layout, frame_layout
from .framer import Framer
from .message import message_stream
from .session import handshake_layout

__all__ = ["Sender"]


class Sender(Unit):
    """Send flits of packets that have credits, control messages and credit reports.

    A packet takes its sequence number when it starts; its flits may arrive later, packet after
    packet in the order of their starts. The sending unit counts flits, so that never more than
    ``depth`` are inside.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    depth : int
        Flits that fit, 2 or more.

    Timing
    ------
    Latency : 2 cycles from a flit on ``i`` to the same flit on ``o``, 1 from ``message``; 1 from
        ``start`` to ``space``, 2 from ``credit.grant``.
    Throughput : one flit per cycle, packet after packet without a gap while ``o.ready`` is high.
    Paths : ``message``, ``wanted`` and ``o.ready`` to ``message.ready`` and ``gone``.
    Reset : forgets flits inside, sequence numbers and limits; reset the neighbour with it.
    """

    credit: Credits = member(In, lambda u: Credits.signature(u.spec))
    """Credits from the ``Deframer`` of the other direction."""
    space = member(Out, lambda u: len(u.spec.protocol.buffers))
    """For each of the neighbour's B buffers whether it has space for a largest packet."""
    start = member(In, lambda u: len(u.spec.protocol.buffers))
    """A packet starts to the buffer; at most one, and only while there is ``space``."""
    length = member(In, lambda u: u.spec.protocol.fields["last"])
    """Index of its last flit."""
    link_sequence = member(Out, lambda u: link_sequence_bits(u.spec))
    """Sequence number of the last started packet, from the cycle after its start on."""
    wanted = member(In, lambda u: len(u.spec.protocol.buffers))
    """Buffers for which a packet waits to start: while there is space, their missing credits need
    not be requested."""
    handshake: stream.Interface = member(In, stream.Signature(handshake_layout()))
    """Handshakes to send, see ``Sending``."""
    down = member(In, 1)
    """See ``Sending``. While high, all flits but handshakes are lost."""
    closing = member(In, 1)
    """See ``Sending``."""
    begins = member(In, 1)
    """See ``Sending``."""
    swallows = member(In, 1)
    """Packets may start while ``down``, and are lost, until ``closing``."""
    empty = member(Out, 1)
    """See ``Sending``."""
    i: FramedData = member(In, lambda u: FramedData.signature(u.spec))
    """Flits."""
    gone = member(Out, 1)
    """High for a cycle for each of these flits that leaves, or is the next to leave."""
    message: stream.Interface = member(In, lambda u: message_stream(u.spec))
    """Control messages."""
    crowding: data.View = member(
        In, crowding_layout(), when=lambda u: u.spec.protocol.routes is not None
    )
    """If sources choose routes: load that a router reports."""
    o: stream.Interface = member(Out, lambda u: framed_signature(u.spec))
    """The link, from registers."""

    def __init__(self, *, spec: SwitchSpec, depth: int) -> None:
        self.spec = check_spec("Sender", spec)
        self.depth = check_int("Sender depth", depth, minimum=2)
        self.unit_name = f"{sized_name('sender', spec)}_d{depth}"
        super().__init__()

    def build(self, m: Module) -> None:
        framer = place(m, "framer", Framer(spec=self.spec))
        queue = place(m, "queue", Fifo(shape=checked_layout(self.spec), depth=self.depth))
        self._pass(m, queue, framer)
        wiring.connect(m, wiring.flipped(self.credit.here), framer.here)
        wiring.connect(m, wiring.flipped(self.message), framer.message)
        wiring.connect(m, wiring.flipped(self.handshake), framer.handshake)
        m.d.comb += [framer.down.eq(self.down), framer.begins.eq(self.begins)]
        if self.spec.protocol.routes is not None:
            m.d.comb += framer.crowding.eq(self.crowding)
        last = place(m, "leaving", StreamRegister(shape=framed_layout(self.spec)))
        wiring.connect(m, framer.o, last.i)
        wiring.connect(m, last.o, wiring.flipped(self.o))
        leaving = framer.i.payload.frame
        m.d.comb += self.gone.eq(framer.i.valid & framer.i.ready)
        ends = self.gone & leaving.last
        held = Signal.like(self.link_sequence)
        there = Signal.like(self.start)
        begun = Signal.like(self.start)
        taken: list[Value] = []
        m.d.comb += self.empty.eq(~there.any())
        for number, name in enumerate(self.spec.protocol.buffers):
            credits = place(m, f"credits_{name}", CircuitCredits(spec=self.spec))
            grant, ended = self.credit.grant, leaving.circuit == number
            inside = self._packets_inside(m, name, begun[number], ends & ended)
            taken.append(credits.taken)
            m.d.comb += [
                credits.grant.eq(grant.valid & (grant.circuit == number)),
                credits.limit.eq(grant.limit),
                credits.start.eq(self.start[number]),
                credits.length.eq(self.length),
                credits.closed.eq(self.closing),
                credits.lost.eq(self.down & self.swallows),
                credits.begins.eq(self.begins),
                there[number].eq(inside),
                self.space[number].eq(credits.space),
                framer.link_sequence[number].eq(credits.link_sequence),
                # A buffer whose packet is starting or being sent need not request credits.
                framer.lacks[number].eq(
                    credits.owed & ~inside & ~(self.wanted[number] & credits.space)
                ),
            ]
        m.d.sync += begun.eq(self.start)
        m.d.comb += self.link_sequence.eq(Mux(begun.any(), one_hot_mux(begun, taken), held))
        m.d.sync += held.eq(self.link_sequence)

    def _pass(self, m: Module, queue: Fifo, framer: Framer) -> None:
        """Compute the CRCs of flits, and queue flits that cannot be sent at once."""
        check = place(m, "check", FlitCrc(data_width=self.spec.data_width))
        valid = Signal()
        payload = Signal(self.spec.data_width, reset_less=True)
        frame = Signal(frame_layout(self.spec), reset_less=True)
        m.d.sync += [valid.eq(self.i.valid), payload.eq(self.i.data), frame.eq(self.i.frame)]
        m.d.comb += [
            check.word[HEADER_BITS:].eq(self.i.data),
            queue.i.payload.data.eq(payload),
            queue.i.payload.crc.eq(check.crc),
            queue.i.payload.frame.eq(frame),
            queue.i.valid.eq(valid & (queue.o.valid | ~framer.i.ready)),
            queue.o.ready.eq(framer.i.ready),
            framer.i.valid.eq(queue.o.valid | valid),
            framer.i.payload.eq(queue.i.payload),
        ]
        with m.If(queue.o.valid):
            m.d.comb += framer.i.payload.eq(queue.o.payload)

    def _packets_inside(self, m: Module, name: str, begun: Value, end: Value) -> Value:
        """Return whether started packets of a buffer have not been sent completely.

        A start settles late in its cycle, and is counted in the next.
        """
        inside = Signal(range(self.depth + 1), name=f"inside_{name}")
        m.d.sync += inside.eq(inside + begun - end)
        return (inside != 0) | begun
