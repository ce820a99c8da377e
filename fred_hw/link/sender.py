"""The sending end of a link: a window of packets, sent again from where the receiver lost them."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.datapath.interconnect import place
from fred_hw.unit import Unit

from .crc import FlitCrc
from .flit import LinkFlit, link_signature
from .packets import PacketStream, packet_signature
from .spec import KINDS, LinkSpec

__all__ = ["LinkSender"]


class LinkSender(Unit):
    """Send packets over a link that may lose or change flits, by Go-Back-N.

    Packets are kept until they are acknowledged. A NACK, or ``timeout_cycles`` without progress,
    makes the sender go back to the packet that the receiver expects. A packet starts only when the
    receiver has room for all of it, so it is never held up on the way.

    Parameters
    ----------
    spec : LinkSpec
        Sizes.

    Members
    -------
    i : In(packet stream)
        Payload, flit by flit; ``last`` ends a packet, and so does its ``packet_flits``-th flit.
    phase, circuit : In
        Written into the header of every flit.
    o : Out(link flit)
        The link.
    control : In(link flit)
        ACK and NACK flits that come back; others, and those with a wrong CRC, are ignored.
    limit : In(sequence)
        Number of the first packet that the receiver has no room for, as often as it changes.
    retransmissions : Out(32)
        Times that the sender went back, modulo 2^32.

    Timing
    ------
    Latency : 4 cycles from the last flit of a packet taken to its first flit on the link.
    Throughput : one flit per cycle while the window and the receiver have room.
    Paths : none but within the stream's registers.
    Reset : forgets all packets and starts with number 0; both ends must be reset together.
    """

    i: PacketStream
    o: LinkFlit
    control: LinkFlit
    phase: Signal
    circuit: Signal
    limit: Signal
    retransmissions: Signal

    def __init__(self, *, spec: LinkSpec) -> None:
        self.spec = spec
        self.unit_name = f"link_sender_{spec.name}"
        fields = spec.fields
        super().__init__(
            {
                "i": In(packet_signature(spec)),
                "phase": In(fields["phase"]),
                "circuit": In(fields["circuit"]),
                "o": Out(link_signature(spec)),
                "control": In(link_signature(spec)),
                "limit": In(fields["sequence"]),
                "retransmissions": Out(32),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec, bits = self.spec, self.spec.fields
        oldest = Signal(bits["sequence"])  # first packet that is not acknowledged
        following = Signal(bits["sequence"])  # packet that is sent now or next
        newest = Signal(bits["sequence"])  # packet that comes in now
        memory = m.submodules.memory = Memory(
            shape=spec.data_width, depth=spec.window_packets * spec.packet_flits, init=[]
        )
        lasts = m.submodules.lasts = Memory(shape=bits["last"], depth=spec.window_packets, init=[])
        self._take(m, memory, lasts, oldest, newest)
        acknowledged, expected, nack, skip = self._listen(m, oldest, following, newest)
        timer = Signal(range(spec.timeout_cycles + 1))
        late = timer == spec.timeout_cycles
        jump, target = Signal(), Signal.like(oldest)
        m.d.comb += [jump.eq(nack | skip | late), target.eq(oldest)]
        with m.If(nack | skip):
            m.d.comb += target.eq(expected)
        with m.If(acknowledged):
            m.d.sync += oldest.eq(expected)
        with m.If(acknowledged | jump | (oldest == following)):
            m.d.sync += timer.eq(0)
        with m.Else():
            m.d.sync += timer.eq(timer + 1)
        with m.If(nack | late):
            m.d.sync += self.retransmissions.eq(self.retransmissions + 1)
        self._send(m, memory, lasts, following, newest, jump, target)
        return m

    def _slot(self, sequence: Value) -> Value:
        """Return the slot of a packet in the memory; windows are whole powers of two."""
        return sequence[: (self.spec.window_packets - 1).bit_length()]

    def _take(
        self, m: Module, memory: Memory, lasts: Memory, oldest: Signal, newest: Signal
    ) -> None:
        """Write packets that come in behind those that are kept."""
        spec, stream = self.spec, self.i
        index = Signal(spec.fields["index"])
        write, write_last = memory.write_port(), lasts.write_port()
        end = stream.last | (index == spec.packet_flits - 1)
        take = Signal()
        used = (newest - oldest)[: len(newest)]
        m.d.comb += [
            stream.ready.eq(used < spec.window_packets),
            take.eq(stream.valid & stream.ready),
            write.addr.eq(self._slot(newest) * spec.packet_flits + index),
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

    def _listen(
        self, m: Module, oldest: Signal, following: Signal, newest: Signal
    ) -> tuple[Value, Value, Value, Value]:
        """Return whether packets are acknowledged, which is expected, whether to go back or on.

        What a control flit says counts only if it is about packets that are kept. An ACK may come
        while packets that it tells of are sent again: then the sender goes on to the one expected.
        """
        spec = self.spec
        check = place(m, "control_crc", FlitCrc(data_width=spec.data_width))
        control = self.control
        seen = Signal()
        header = Signal.like(control.header)
        crc = Signal.like(control.crc)
        m.d.comb += check.word.eq(Cat(control.header.as_value(), control.data))
        m.d.sync += [seen.eq(control.valid), header.eq(control.header), crc.eq(control.crc)]
        expected = header.sequence
        ahead = (expected - oldest)[: len(oldest)]
        kept = (newest - oldest)[: len(oldest)]
        good = Signal()
        m.d.comb += good.eq(seen & (crc == check.crc) & (ahead <= kept))
        says = {kind: header.kind == number for number, kind in enumerate(KINDS)}
        acknowledged, nack = Signal(), Signal()
        m.d.comb += [
            acknowledged.eq(good & (says["ack"] | says["nack"]) & (ahead != 0)),
            nack.eq(good & says["nack"]),
        ]
        skip = Signal()
        m.d.comb += skip.eq(acknowledged & ((following - oldest)[: len(oldest)] < ahead))
        return acknowledged, expected, nack, skip

    def _send(
        self,
        m: Module,
        memory: Memory,
        lasts: Memory,
        following: Signal,
        newest: Signal,
        jump: Value,
        target: Value,
    ) -> None:
        """Read packets and put them on the link, with header and CRC."""
        spec, bits = self.spec, self.spec.fields
        index, last = Signal(bits["index"]), Signal(bits["last"])
        read, read_last = memory.read_port(), lasts.read_port()
        ahead = (self.limit - following)[: len(following)]
        # ``known``: the packet to send next is complete, and its length has been read.
        known, busy = Signal(), Signal()
        start, sending, ends = Signal(), Signal(), Signal()
        current_last = Signal(bits["last"])
        after = Signal.like(following)  # what ``following`` will be
        m.d.comb += [
            start.eq(
                known & ~busy & (ahead != 0) & (ahead <= spec.window_packets + spec.buffer_packets)
            ),
            sending.eq((start | busy) & ~jump),
            current_last.eq(read_last.data),
            ends.eq(sending & (index == current_last)),
            after.eq(following + ends),
        ]
        with m.If(busy):
            m.d.comb += current_last.eq(last)
        with m.If(jump):
            m.d.comb += after.eq(target)
        m.d.sync += [following.eq(after), known.eq(after != newest)]
        with m.If(sending):
            m.d.sync += [last.eq(current_last), busy.eq(~ends), index.eq(index + 1)]
        with m.If(jump | ends):
            m.d.sync += [index.eq(0), busy.eq(0)]
        m.d.comb += [
            read.en.eq(1),
            read_last.en.eq(1),
            read_last.addr.eq(self._slot(after)),
            read.addr.eq(self._slot(following) * spec.packet_flits + index),
        ]
        self._emit(m, read.data, sending, following, index, current_last)

    def _emit(
        self,
        m: Module,
        payload: Value,
        sending: Value,
        sequence: Value,
        index: Value,
        last: Value,
    ) -> None:
        """Put flits on the link: memory, then CRC, then out."""
        spec = self.spec
        header = Signal.like(self.o.header)
        valid = Signal()
        m.d.sync += [
            valid.eq(sending),
            header.kind.eq(KINDS.index("data")),
            header.circuit.eq(self.circuit),
            header.phase.eq(self.phase),
            header.sequence.eq(sequence),
            header.index.eq(index),
            header.last.eq(last),
        ]
        crc = place(m, "crc", FlitCrc(data_width=spec.data_width))
        m.d.comb += crc.word.eq(Cat(header.as_value(), payload))
        out_header = Signal.like(self.o.header)
        out_data = Signal(spec.data_width, reset_less=True)
        out_valid = Signal()
        m.d.sync += [out_valid.eq(valid), out_header.eq(header), out_data.eq(payload)]
        m.d.comb += [
            self.o.valid.eq(out_valid),
            self.o.header.eq(out_header),
            self.o.data.eq(out_data),
            self.o.crc.eq(crc.crc),
        ]
