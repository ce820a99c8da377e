"""The receiving end of a link: packets in order, each once, or a request to go back."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.datapath.interconnect import place
from fred_hw.unit import Unit

from .crc import FlitCrc
from .flit import LinkFlit, link_signature
from .packets import PacketStream, packet_signature
from .spec import CIRCUITS, KINDS, LinkSpec

__all__ = ["LinkReceiver"]


class LinkReceiver(Unit):
    """Receive packets from a link that may lose or change flits, by Go-Back-N.

    A flit counts if its CRC is right and it is the next one that is expected. Any other data flit
    is dropped. If it is one that has come before, nothing is said, but for an ACK after the end of
    an earlier packet, as the ACK before may have been lost; else the first one after progress is
    answered by a NACK with the number of the packet that is expected. Flits are handed on as they
    come.

    Parameters
    ----------
    spec : LinkSpec
        Sizes.

    Members
    -------
    i : In(link flit)
        The link.
    o : Out(packet stream)
        Payload of packets, in order.
    control : Out(link flit)
        ACK and NACK flits.
    limit : Out(sequence)
        Number of the first packet that there is no room for.
    dropped : Out(32)
        Flits dropped for their CRC or their place, modulo 2^32; those of packets that had come
        before are not counted.

    Timing
    ------
    Latency : 3 cycles from a flit on the link to the same flit on ``o``.
    Throughput : one flit per cycle in, and out while ``o.ready`` is high.
    Paths : none.
    Reset : forgets all packets and expects number 0; both ends must be reset together.
    """

    i: LinkFlit
    o: PacketStream
    control: LinkFlit
    limit: Signal
    dropped: Signal

    def __init__(self, *, spec: LinkSpec) -> None:
        self.spec = spec
        self.unit_name = f"link_receiver_{spec.name}"
        super().__init__(
            {
                "i": In(link_signature(spec)),
                "o": Out(packet_signature(spec)),
                "control": Out(link_signature(spec)),
                "limit": Out(spec.fields["sequence"]),
                "dropped": Out(32),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec, bits = self.spec, self.spec.fields
        depth = spec.buffer_packets * spec.packet_flits
        # A flit, and above it whether it ends its packet.
        memory = m.submodules.memory = Memory(shape=spec.data_width + 1, depth=depth, init=[])
        expected, index = Signal(bits["sequence"]), Signal(bits["index"])
        used = Signal(range(depth + 1))
        came, freed = Signal(), Signal()
        m.d.sync += used.eq(used + came - freed)
        # The packet that is coming in needs room only for what is missing of it.
        room = Signal(range(depth + spec.packet_flits + 1))
        m.d.comb += room.eq(depth - used + index)
        packets = sum(room >= k * spec.packet_flits for k in range(1, spec.buffer_packets + 1))
        m.d.sync += self.limit.eq(expected + packets)
        self._accept(m, memory, expected, index, used, came)
        self._hand_on(m, memory, used, freed)
        return m

    def _accept(
        self,
        m: Module,
        memory: Memory,
        expected: Signal,
        index: Signal,
        used: Signal,
        came: Signal,
    ) -> None:
        """Check flits, write those that count, and answer."""
        spec = self.spec
        depth = spec.buffer_packets * spec.packet_flits
        check = place(m, "check", FlitCrc(data_width=spec.data_width))
        seen, header, payload, crc = (
            Signal(),
            Signal.like(self.i.header),
            Signal(spec.data_width, reset_less=True),
            Signal.like(self.i.crc),
        )
        m.d.comb += check.word.eq(Cat(self.i.header.as_value(), self.i.data))
        m.d.sync += [
            seen.eq(self.i.valid),
            header.eq(self.i.header),
            payload.eq(self.i.data),
            crc.eq(self.i.crc),
        ]
        refused = Signal()  # a NACK was sent and nothing has come since
        good, old, whole_old = Signal(), Signal(), Signal()
        behind = (expected - header.sequence)[: len(expected)]
        m.d.comb += [
            good.eq(seen & (crc == check.crc) & (header.kind == KINDS.index("data"))),
            whole_old.eq(good & (behind != 0) & (behind <= spec.window_packets)),
            old.eq(whole_old | (good & (behind == 0) & (header.index < index))),
            came.eq(good & self._is_next(header, expected, index) & (used != depth)),
        ]
        ends = header.index == header.last
        write = memory.write_port()
        tail = Signal(range(depth))
        m.d.comb += [
            write.addr.eq(tail),
            write.data.eq(Cat(payload, ends)),
            write.en.eq(came),
        ]
        lost = Signal()
        m.d.comb += lost.eq(seen & ~came & ~old & ~refused)
        with m.If(came):
            m.d.sync += [index.eq(index + 1), refused.eq(0), tail.eq(tail + 1)]
            with m.If(tail == depth - 1):
                m.d.sync += tail.eq(0)
            with m.If(ends):
                m.d.sync += [index.eq(0), expected.eq(expected + 1)]
        with m.Elif(seen & ~old):
            m.d.sync += [self.dropped.eq(self.dropped + 1), refused.eq(1)]
        self._answer(m, expected, came & ends, lost, whole_old & ends, seen)

    def _is_next(self, header: data.View, expected: Value, index: Value) -> Value:
        """Return whether a flit is the one that is expected."""
        return (header.sequence == expected) & (header.index == index)

    def _answer(
        self, m: Module, expected: Signal, came: Value, lost: Value, known: Value, seen: Value
    ) -> None:
        """Send an ACK for every interval of packets, for what waits when idle, and NACKs."""
        spec = self.spec
        waiting = Signal(range(spec.ack_interval + 1))
        idle = Signal(range(spec.idle_cycles + 1))
        # What just came counts from the next cycle on, when ``expected`` has moved.
        due_ack, due_nack = Signal(), Signal()
        with m.If(came):
            m.d.sync += waiting.eq(waiting + 1)
        with m.If(seen):
            m.d.sync += idle.eq(0)
        with m.Elif(idle != spec.idle_cycles):
            m.d.sync += idle.eq(idle + 1)
        with m.If(lost):
            m.d.sync += due_nack.eq(1)
        with m.If(known):
            m.d.sync += due_ack.eq(1)
        send, kind = Signal(), Signal(spec.fields["kind"])
        full = waiting >= spec.ack_interval
        tail = (idle == spec.idle_cycles) & (waiting != 0)
        with m.If(due_nack):
            m.d.comb += [send.eq(1), kind.eq(KINDS.index("nack"))]
        with m.Elif(due_ack | full | tail):
            m.d.comb += [send.eq(1), kind.eq(KINDS.index("ack"))]
        with m.If(send):
            # Either says all that came before.
            m.d.sync += waiting.eq(came)
            with m.If(due_nack):
                m.d.sync += due_nack.eq(lost)
            m.d.sync += due_ack.eq(known)
        header = Signal.like(self.control.header)
        valid = Signal()
        m.d.comb += [
            header.kind.eq(kind),
            header.circuit.eq(CIRCUITS.index("control")),
            header.sequence.eq(expected),
        ]
        crc = place(m, "control_crc", FlitCrc(data_width=spec.data_width))
        held = Signal.like(header)
        m.d.comb += crc.word.eq(header.as_value())
        m.d.sync += [valid.eq(send), held.eq(header)]
        m.d.comb += [
            self.control.valid.eq(valid),
            self.control.header.eq(held),
            self.control.data.eq(0),
            self.control.crc.eq(crc.crc),
        ]

    def _hand_on(self, m: Module, memory: Memory, used: Signal, freed: Signal) -> None:
        """Read flits; the address runs a cycle ahead of the flit that is offered."""
        spec = self.spec
        depth = spec.buffer_packets * spec.packet_flits
        here, following, offered = Signal(range(depth)), Signal(range(depth)), Signal()
        read = memory.read_port()
        m.d.comb += [
            self.o.valid.eq(offered),
            Cat(self.o.data, self.o.last).eq(read.data),
            freed.eq(offered & self.o.ready),
            following.eq(here),
        ]
        with m.If(freed):
            m.d.comb += following.eq(here + 1)
            with m.If(here == depth - 1):
                m.d.comb += following.eq(0)
        m.d.sync += [here.eq(following), offered.eq(used - freed != 0)]
        m.d.comb += [read.en.eq(1), read.addr.eq(following)]
