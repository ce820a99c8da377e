"""Source of a flow: a window of packets, sent again from where a destination lost them."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.data import View
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.link.descriptor import about_layout
from fred_hw.link.message import Message, message_signature
from fred_hw.protocol import KINDS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .ledger import Ledger
from .payload import PayloadStream, concerns, payload_signature

__all__ = ["FlowSender", "SentFlit", "sent_signature"]


class SentFlit(wiring.PureInterface):
    """A flit on its way to the link."""

    data: Signal
    about: View
    index: Signal
    last: Signal


def sent_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of a flit of a ``FlowSender``.

    Members
    -------
    data : Out(data_width)
        Lanes.
    about : Out(about)
        What the header says of its packet.
    index, last : Out, Out(1)
        Its place in the packet, and whether that is the last.
    """
    return wiring.Signature(
        {
            "data": Out(spec.data_width),
            "about": Out(about_layout(spec)),
            "index": Out(spec.protocol.fields(spec.ports)["index"]),
            "last": Out(1),
        }
    )


class FlowSender(Unit):
    """Send the packets of a flow, and again from where a nack says, or from the oldest.

    Packets are kept until they are acknowledged, see docs/protocol.md. One that has begun is sent
    to its end.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; with the link layer.

    Members
    -------
    i : In(payload stream)
        Packets; ``last`` ends one, and so does its ``packet_flits``-th flit.
    phase, peer : In
        The flow; constant while ``idle`` is low. Each goes on with the number it had come to.
    clear : In(1)
        Start the flow's numbers at 0; only while ``idle`` is high and no flit is offered, and not
        in the cycle in which the flow changes.
    idle : Out(1)
        All packets that were taken are acknowledged.
    message : In(message)
        From the link; acks and nacks of other flows are ignored.
    waiting, ends : Out(1)
        A flit may be taken; it ends its packet. From the first to the last flit of a packet
        ``waiting`` stays high.
    take : In(1)
        Take it.
    o : Out(sent flit)
        The flit taken in the cycle before.
    gone_back : Out(1)
        High for a cycle when packets will be sent again.

    Timing
    ------
    Latency : 2 cycles from the last flit of a packet on ``i`` to ``waiting``; 1 from a flit taken
        to the flit.
    Throughput : one flit per cycle in and out, without a gap between packets, while the window has
        room.
    Paths : ``phase`` and ``peer`` to ``i.ready``.
    Reset : forgets all packets and starts with number 0.
    """

    i: PayloadStream
    phase: Signal
    peer: Signal
    clear: Signal
    idle: Signal
    message: Message
    waiting: Signal
    ends: Signal
    take: Signal
    o: SentFlit
    gone_back: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        self.unit_name = f"flow_sender_w{spec.data_width}_p{spec.ports}_{spec.protocol.suffix}"
        fields = spec.protocol.fields(spec.ports)
        super().__init__(
            {
                "i": In(payload_signature(spec)),
                "phase": In(fields["phase"]),
                "peer": In(fields["peer"]),
                "clear": In(1),
                "idle": Out(1),
                "message": In(message_signature(spec)),
                "waiting": Out(1),
                "ends": Out(1),
                "take": In(1),
                "o": Out(sent_signature(spec)),
                "gone_back": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec, protocol = self.spec, self.spec.protocol
        bits = protocol.fields(spec.ports)
        # Packets from `oldest` on are kept, those before `begun` were sent, once at least;
        # `following` begins next and `newest` comes in.
        oldest, following, begun, newest = (
            Signal(bits["sequence"], name=name)
            for name in ("oldest", "following", "begun", "newest")
        )
        busy, current = Signal(), Signal.like(oldest)  # a packet is being sent
        memory = m.submodules.memory = Memory(
            shape=spec.data_width, depth=protocol.window_packets * protocol.packet_flits, init=[]
        )
        lasts = m.submodules.lasts = Memory(
            shape=bits["last"], depth=protocol.window_packets, init=[]
        )
        ledger = place(m, "ledger", Ledger(spec=spec))
        m.d.comb += [
            ledger.phase.eq(self.phase),
            ledger.peer.eq(self.peer),
            ledger.write.eq(ledger.changed),
            ledger.number.eq(newest),
            ledger.clear.eq(self.clear),
        ]
        partial = self._take_in(m, memory, lasts, oldest, newest, busy, current, ledger.changed)
        m.d.comb += self.idle.eq((oldest == newest) & ~busy & ~partial)
        acknowledged, number, nack = self._listen(m, oldest, begun)
        timer = Signal(range(protocol.timeout_cycles + 1))
        late, skip, back, jump = Signal(), Signal(), Signal(), Signal()
        ahead = (number - oldest)[: len(oldest)]
        m.d.comb += [
            late.eq((timer == protocol.timeout_cycles) & ~acknowledged),
            # Packets may be acknowledged while they are to be sent again.
            skip.eq(acknowledged & ((following - oldest)[: len(oldest)] < ahead)),
            back.eq(nack & (number != following)),
            jump.eq(back | skip | late),
            self.gone_back.eq(back | late),
        ]
        with m.If(acknowledged):
            m.d.sync += oldest.eq(number)
        with m.If(acknowledged | late | (oldest == begun)):
            m.d.sync += timer.eq(0)
        with m.Else():
            m.d.sync += timer.eq(timer + 1)
        start = self._send(
            m,
            memory,
            lasts,
            following,
            newest,
            busy,
            current,
            jump,
            Mux(back | skip, number, oldest),
        )
        with m.If(start & (following == begun)):
            m.d.sync += begun.eq(begun + 1)
        with m.If(self.clear | ledger.changed):
            first = Mux(self.clear, 0, ledger.stored)
            m.d.sync += [one.eq(first) for one in (oldest, following, begun, newest)]
        return m

    def _slot(self, sequence: Value) -> Value:
        """Return the slot of a packet in the memory; windows are whole powers of two."""
        return sequence[: (self.spec.protocol.window_packets - 1).bit_length()]

    def _take_in(
        self,
        m: Module,
        memory: Memory,
        lasts: Memory,
        oldest: Signal,
        newest: Signal,
        busy: Value,
        current: Value,
        changed: Value,
    ) -> Value:
        """Write packets behind those that are kept; return whether one is there in part."""
        protocol, stream = self.spec.protocol, self.i
        index = Signal(self.o.index.shape())
        write, write_last = memory.write_port(), lasts.write_port()
        end = stream.last | (index == protocol.packet_flits - 1)
        take, sent = Signal(), Signal()
        kept = (newest - oldest)[: len(newest)]
        m.d.comb += [
            # A packet that is acknowledged while it is sent keeps its place until it has gone.
            sent.eq(busy & (self._slot(current) == self._slot(newest))),
            stream.ready.eq((kept < protocol.window_packets) & ~sent & ~changed),
            take.eq(stream.valid & stream.ready),
            write.addr.eq(self._slot(newest) * protocol.packet_flits + index),
            write.data.eq(stream.data),
            write.en.eq(take),
            write_last.addr.eq(self._slot(newest)),
            write_last.data.eq(index),
            write_last.en.eq(take & end),
        ]
        with m.If(take):
            m.d.sync += index.eq(index + 1)
            with m.If(end):
                m.d.sync += [index.eq(0), newest.eq(newest + 1)]
        return index != 0

    def _listen(self, m: Module, oldest: Value, begun: Value) -> tuple[Value, Value, Value]:
        """Return whether packets are acknowledged, the number said, whether it is a nack."""
        message = self.message
        mine, acknowledged, nack = Signal(), Signal(), Signal()
        ahead = (message.sequence - oldest)[: len(oldest)]
        out = (begun - oldest)[: len(oldest)]
        m.d.comb += [
            mine.eq(
                message.valid
                & concerns(self.spec, message.phase, message.peer, self.phase, self.peer)
                & (ahead <= out)
            ),
            acknowledged.eq(mine & (message.kind == KINDS.index("ack")) & (ahead != 0)),
            nack.eq(mine & (message.kind == KINDS.index("nack"))),
        ]
        return acknowledged, message.sequence, nack

    def _send(
        self,
        m: Module,
        memory: Memory,
        lasts: Memory,
        following: Signal,
        newest: Signal,
        busy: Signal,
        current: Signal,
        jump: Value,
        target: Value,
    ) -> Value:
        """Read flits; return whether a packet begins."""
        protocol = self.spec.protocol
        index, length, here = (Signal(self.o.index.shape()) for _ in range(3))
        read, read_last = memory.read_port(), lasts.read_port()
        # `known`: the packet to begin next is complete, and its length has been read.
        known, start, after, sequence = (
            Signal(),
            Signal(),
            Signal.like(following),
            Signal.like(following),
        )
        m.d.comb += [
            self.waiting.eq(known | busy),
            start.eq(self.take & ~busy),
            here.eq(Mux(busy, length, read_last.data)),
            self.ends.eq(index == here),
            sequence.eq(Mux(busy, current, following)),
            after.eq(Mux(jump, target, following + start)),
            read.en.eq(1),
            read.addr.eq(self._slot(sequence) * protocol.packet_flits + index),
            read_last.en.eq(1),
            read_last.addr.eq(self._slot(after)),
            self.o.data.eq(read.data),
        ]
        m.d.sync += [following.eq(after), known.eq((after != newest) & ~self.clear)]
        with m.If(self.take):
            m.d.sync += [
                current.eq(sequence),
                length.eq(here),
                busy.eq(~self.ends),
                index.eq(Mux(self.ends, 0, index + 1)),
                self.o.about.phase.eq(self.phase),
                self.o.about.peer.eq(self.peer),
                self.o.about.sequence.eq(sequence),
                self.o.about.length.eq(here),
                self.o.index.eq(index),
                self.o.last.eq(self.ends),
            ]
        return start
