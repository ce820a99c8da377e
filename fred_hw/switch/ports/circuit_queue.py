"""Queue of one virtual circuit of an input port, and what becomes of the packet at its head."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.select import selected
from fred_hw.link.arrival import Arrival, arrival_signature, queued_layout
from fred_hw.link.descriptor import descriptor_layout, flow_key, key_bits
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec, place, sized_name

__all__ = ["CircuitQueue"]


class CircuitQueue(Unit):
    """Queue packets; offer the one at the head if it is due, throw it away if it is not.

    A packet is due if its number is the one that its flow takes next, and its generation that of
    the flow.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    i : In(arrival_signature(spec))
        Flits.
    enable : In(1)
        Whether heads are looked at.
    serves : In(phases)
        Phases of this circuit that take packets from this port.
    key, due, generation : Out(key_bits(spec)), In(sequence), In(generation)
        Flow of the packet at the head, the number that it takes next, and its generation.
    waiting, descriptor : Out(1), Out(descriptor_layout(spec))
        Whether the head is a packet that may start, and what is known of it.
    start, take, finish : In(1)
        Start it; take a flit, from the cycle of the start on; its flow ends its packet, what is
        left of this one is thrown away.
    valid, last, word : Out(1), Out(1), Out(data_width)
        A flit is there; it ends the packet; the flit.
    broken : Out(1)
        The rest of the packet is not there and will not come.
    unknown : Out(1)
        High for a cycle when a packet is thrown away because its phase takes none from this port,
        though it is of the phase's generation.
    late, early, stuck : Out(1)
        High for a cycle when a packet is thrown away that was due before, or is due later, or has
        been at the head for ``stuck_cycles``.
    stale : Out(1)
        Likewise, when it is of another generation.
    enters, leaves : Out(1)
        Likewise, when the first flit of a packet comes, and when it goes.

    Timing
    ------
    Latency : 1 cycle from a flit that is taken to the head.
    Throughput : one flit per cycle.
    Paths : ``enable``, ``serves``, ``due`` and ``generation`` to ``waiting``, ``valid`` and what is
        thrown away, ``i.incoming`` to ``broken``.
    Reset : forgets all packets.
    """

    i: Arrival
    enable: Signal
    serves: Signal
    key: Signal
    due: Signal
    generation: Signal
    waiting: Signal
    descriptor: data.View
    start: Signal
    take: Signal
    finish: Signal
    valid: Signal
    last: Signal
    word: Signal
    broken: Signal
    unknown: Signal
    late: Signal
    early: Signal
    stuck: Signal
    stale: Signal
    enters: Signal
    leaves: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("CircuitQueue", spec)
        self.unit_name = sized_name("circuit_queue", spec)
        fields = spec.protocol.fields(spec.ports)
        strobes = ("broken", "late", "early", "stuck", "stale", "enters", "leaves")
        members: dict[str, Any] = {
            "i": In(arrival_signature(spec)),
            "enable": In(1),
            "serves": In(spec.protocol.phases),
            "waiting": Out(1),
            "descriptor": Out(descriptor_layout(spec)),
            "start": In(1),
            "take": In(1),
            "finish": In(1),
            "valid": Out(1),
            "last": Out(1),
            "word": Out(spec.data_width),
            "unknown": Out(1),
            "key": Out(key_bits(spec)),
            "due": In(fields["sequence"]),
            "generation": In(fields["generation"]),
            **dict.fromkeys(strobes, Out(1)),
        }
        super().__init__(members)

    def build(self, platform: object) -> Module:
        m = Module()
        spec, protocol = self.spec, self.spec.protocol
        fifo = place(m, "flits", Fifo(shape=queued_layout(spec), depth=protocol.buffer_flits))
        here, head = fifo.o.valid, fifo.o.payload
        m.d.comb += [
            fifo.i.valid.eq(self.i.valid),
            fifo.i.payload.eq(self.i.word),
            self.i.ready.eq(fifo.i.ready),
            self.i.used.eq(fifo.used),
            self.descriptor.eq(head.descriptor),
            self.word.eq(head.data),
            self.last.eq(head.last),
        ]
        inside = Signal()  # the packet at the head has started and has not finished
        first, known = Signal(), Signal()
        online = head.descriptor.phase == protocol.online
        peer = head.descriptor.peer
        real = peer < spec.ports if spec.ports & (spec.ports - 1) else Const(1, 1)
        serves = Cat(self.serves, Const(1, 1))
        # A flow that does not exist has no generation.
        exists = ~online | real
        if protocol.online < (1 << len(head.descriptor.phase)) - 1:
            exists &= head.descriptor.phase <= protocol.online
        old = exists & (head.descriptor.generation != self.generation)
        m.d.comb += [
            first.eq(here & head.first & ~inside & self.enable),
            known.eq(selected(head.descriptor.phase, list(serves)) & (~online | real)),
            self.stale.eq(first & old),
            self.unknown.eq(first & ~known & ~old),
        ]
        with m.If(self.finish):
            m.d.sync += inside.eq(0)
        with m.Elif(self.start):
            m.d.sync += inside.eq(1)
        m.d.comb += self.valid.eq((here & inside & ~head.first) | self.waiting)
        useless = self.unknown | self.stale | self._judge(m, head.descriptor, first & known & ~old)
        m.d.comb += [
            self.broken.eq(inside & Mux(here, head.first, ~self.i.incoming)),
            self.enters.eq(self.i.valid & self.i.ready & self.i.word.first),
            self.leaves.eq(here & head.first & fifo.o.ready),
        ]
        # Between packets, a flit that begins none is left over from one that has finished.
        left_over = here & ~inside & ~head.first
        m.d.comb += fifo.o.ready.eq((self.take & self.valid) | useless | left_over)
        return m

    def _judge(self, m: Module, head: data.View, first: Value) -> Value:
        """Compare the packet with what is due; return whether it is thrown away."""
        protocol = self.spec.protocol
        behind = Signal.like(self.due)
        fits, patience = Signal(), Signal(range(protocol.stuck_cycles + 1))
        m.d.comb += [
            self.key.eq(flow_key(self.spec, head.phase, head.peer)),
            behind.eq(self.due - head.sequence),
            fits.eq(first & (behind == 0)),
            self.stuck.eq(fits & (patience == protocol.stuck_cycles)),
            self.waiting.eq(fits & ~self.stuck),
            self.late.eq(first & (behind != 0) & (behind <= protocol.window_packets)),
            self.early.eq(first & (behind > protocol.window_packets)),
        ]
        with m.If(fits & ~self.start & ~self.stuck):
            m.d.sync += patience.eq(patience + 1)
        with m.Else():
            m.d.sync += patience.eq(0)
        return self.late | self.early | self.stuck
