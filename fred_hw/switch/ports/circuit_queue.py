"""Queue of one virtual circuit of an input port, and what becomes of the packet at its head."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.select import selected
from fred_hw.link.descriptor import about_layout, key_bits, queued_layout
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

__all__ = ["CircuitQueue"]


class CircuitQueue(Unit):
    """Queue packets; offer the one at the head if it is due, throw it away if it is not.

    With the link layer a packet is due if its number is the one that its flow takes next.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    i_valid, i_ready, i : In(1), Out(1), In(queued)
        Flits, of a packet in order, though its end may be missing.
    incoming : In(1)
        Whether more flits may come of the packet whose flit came last.
    enable : In(1)
        Whether heads are looked at.
    serves : In(phases)
        Phases of this circuit that take packets from this port.
    key, due : Out, In(sequence)
        Flow of the packet at the head, and the number that it takes next; with the link layer.
    waiting, about : Out(1), Out
        Whether the head is a packet that may start, and what is known of it.
    start, take, finish : In(1)
        Start it; take a flit, from the cycle of the start on; its flow ends its packet, what is
        left of this one is thrown away.
    valid, broken, last, word : Out
        A flit is there; the rest of the packet is not and will not come; the flit ends the packet;
        the flit.
    late, early : Out(1)
        High for a cycle when a packet is thrown away that was due before, or is due later.
    unknown, stuck : Out(1)
        High for a cycle when a packet is thrown away because its phase takes none from this port,
        or because it has been at the head for ``stuck_cycles``.
    used : Out
        Flits inside.

    Timing
    ------
    Latency : 1 cycle from a flit that is taken to the head.
    Throughput : one flit per cycle.
    Paths : ``due`` to ``waiting``, ``incoming`` to ``broken``.
    Reset : forgets all packets.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        protocol = spec.protocol
        self.unit_name = f"circuit_queue_w{spec.data_width}_p{spec.ports}_{protocol.suffix}"
        members = {
            "i_valid": In(1),
            "i_ready": Out(1),
            "i": In(queued_layout(spec)),
            "enable": In(1),
            "serves": In(protocol.phases),
            "waiting": Out(1),
            "about": Out(about_layout(spec)),
            "start": In(1),
            "take": In(1),
            "finish": In(1),
            "valid": Out(1),
            "last": Out(1),
            "word": Out(spec.data_width),
            "unknown": Out(1),
            "used": Out(range(protocol.buffer_flits + 1)),
        }
        if protocol.link:
            members |= {
                "incoming": In(1),
                "key": Out(key_bits(spec)),
                "due": In(protocol.fields(spec.ports)["sequence"]),
                "broken": Out(1),
                "late": Out(1),
                "early": Out(1),
                "stuck": Out(1),
            }
        super().__init__(members)

    def build(self, platform: object) -> Module:
        m = Module()
        spec, protocol = self.spec, self.spec.protocol
        layout = queued_layout(spec)
        fifo = place(m, "flits", Fifo(shape=layout.size, depth=protocol.buffer_flits))
        head = Signal(layout)
        m.d.comb += [
            fifo.i.valid.eq(self.i_valid),
            self.i_ready.eq(fifo.i.ready),
            fifo.i.payload.eq(self.i.as_value()),
            head.as_value().eq(fifo.o.payload),
            self.about.eq(head.about),
            self.word.eq(head.data),
            self.last.eq(head.last),
            self.used.eq(fifo.used),
        ]
        inside = Signal()  # the packet at the head has started and has not finished
        first, known = Signal(), Signal()
        online = head.about.phase == protocol.online
        real = head.about.peer < spec.ports if spec.ports & (spec.ports - 1) else Const(1, 1)
        serves = Cat(self.serves, Const(1, 1))
        m.d.comb += [
            first.eq(fifo.o.valid & head.first & ~inside & self.enable),
            known.eq(selected(head.about.phase, list(serves)) & (~online | real)),
            self.unknown.eq(first & ~known),
        ]
        with m.If(self.finish):
            m.d.sync += inside.eq(0)
        with m.Elif(self.start):
            m.d.sync += inside.eq(1)
        rest = fifo.o.valid & inside & ~head.first
        m.d.comb += self.valid.eq(rest | self.waiting)
        useless = self.unknown
        if protocol.link:
            useless = self._judge(m, head, first, known, online)
            m.d.comb += self.broken.eq(inside & Mux(fifo.o.valid, head.first, ~self.incoming))
        else:
            m.d.comb += self.waiting.eq(first & known)
        # Between packets, a flit that begins none is left over from one that has finished.
        left_over = fifo.o.valid & ~inside & ~head.first
        m.d.comb += fifo.o.ready.eq((self.take & self.valid) | useless | left_over)
        return m

    def _judge(
        self, m: Module, head: data.View, first: Value, known: Value, online: Value
    ) -> Value:
        """Compare the packet with what is due; return whether it is thrown away."""
        protocol = self.spec.protocol
        behind = Signal.like(self.due)
        fits, patience = Signal(), Signal(range(protocol.stuck_cycles + 1))
        m.d.comb += [
            self.key.eq(Mux(online, protocol.online + head.about.peer, head.about.phase)),
            behind.eq(self.due - head.about.sequence),
            fits.eq(first & known & (behind == 0)),
            self.stuck.eq(fits & (patience == protocol.stuck_cycles)),
            self.waiting.eq(fits & ~self.stuck),
            self.late.eq(first & known & (behind != 0) & (behind <= protocol.window_packets)),
            self.early.eq(first & known & (behind > protocol.window_packets)),
        ]
        with m.If(fits & ~self.start & ~self.stuck):
            m.d.sync += patience.eq(patience + 1)
        with m.Else():
            m.d.sync += patience.eq(0)
        return self.unknown | self.late | self.early | self.stuck
