"""Input port: a queue for each data circuit, and the numbers of the packets that are due."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import selected
from fred_hw.link.deframer import Deframer
from fred_hw.link.descriptor import about_layout, key_bits
from fred_hw.link.header import flit_link_signature
from fred_hw.link.message import message_signature
from fred_hw.link.packet_stream import packet_signature
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .circuit_queue import CircuitQueue

__all__ = ["InputPort"]

COUNT = len(DATA_CIRCUITS)


class InputPort(Unit):
    """Keep packets apart by their circuits until their flow takes them.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    i : In(link flit), or In(packet stream) without the link layer
        Flits from outside.
    enable : In(1)
        Whether packets are looked at.
    serves : In(3 x phases)
        For each circuit the phases that take packets from this port.
    waiting, about : Out(3), Out(3)
        For each circuit whether a packet may start, and what is known of it.
    circuit : In(2)
        Circuit that is served.
    start, take, finish : In(1)
        Start its packet, take a flit of it, end it; see ``CircuitQueue``.
    valid, broken, last, word : Out
        The flit at its head.
    limit, synced, granted, granted_circuit, granted_limit, message : Out
        With the link layer: see ``Deframer``.
    key, due : In, Out
        With the link layer: the number that is due of a flow.
    write, number : In
        Write that number; no packet may start in this cycle.
    late, early, event_key : Out
        High until ``event_taken``: a packet of a flow was thrown away that was due before, or is
        due later. One such event in ``patience_cycles``, and none so long after ``write``.
    came, dropped, unknown, length, kind, overflow, stuck : Out(1)
        High for a cycle per flit taken and dropped, and for errors, the last two with the link
        layer.

    Timing
    ------
    Latency : 2 cycles with the link layer, else 1, from a flit to the head of its queue.
    Throughput : one flit per cycle.
    Paths : ``circuit`` to what it selects; ``i.circuit`` to ``i.ready`` without the link layer.
    Reset : forgets all packets.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        protocol = spec.protocol
        self.unit_name = f"input_port_w{spec.data_width}_p{spec.ports}_{protocol.suffix}"
        members = {
            "enable": In(1),
            "serves": In(data.ArrayLayout(protocol.phases, COUNT)),
            "waiting": Out(COUNT),
            "about": Out(data.ArrayLayout(about_layout(spec), COUNT)),
            "circuit": In(2),
            "start": In(1),
            "take": In(1),
            "finish": In(1),
            "valid": Out(1),
            "last": Out(1),
            "word": Out(spec.data_width),
            "came": Out(1),
            "dropped": Out(1),
            "unknown": Out(1),
            "length": Out(1),
            "kind": Out(1),
        }
        if protocol.link:
            fields = protocol.fields(spec.ports)
            ticket, sequence, key = fields["ticket"], fields["sequence"], key_bits(spec)
            members |= {
                "i": In(flit_link_signature(spec)),
                "limit": Out(data.ArrayLayout(ticket, COUNT)),
                "synced": Out(COUNT),
                "granted": Out(1),
                "granted_circuit": Out(2),
                "granted_limit": Out(ticket),
                "message": Out(message_signature(spec)),
                "key": In(key),
                "due": Out(sequence),
                "write": In(1),
                "number": In(sequence),
                "late": Out(1),
                "early": Out(1),
                "event_key": Out(key),
                "event_taken": In(1),
                "broken": Out(1),
                "overflow": Out(1),
                "stuck": Out(1),
            }
        else:
            members["i"] = In(packet_signature(spec))
        super().__init__(members)

    def build(self, platform: object) -> Module:
        m = Module()
        queues = [
            place(m, f"circuit_{name}", CircuitQueue(spec=self.spec)) for name in DATA_CIRCUITS
        ]
        for number, queue in enumerate(queues):
            mine = self.circuit == number
            m.d.comb += [
                queue.enable.eq(self.enable),
                queue.serves.eq(self.serves[number]),
                queue.start.eq(self.start & mine),
                queue.take.eq(self.take & mine),
                queue.finish.eq(self.finish & mine),
                self.waiting[number].eq(queue.waiting),
                self.about[number].eq(queue.about),
            ]
        for name in ("valid", "last", "word"):
            values = [getattr(queue, name) for queue in queues]
            m.d.comb += getattr(self, name).eq(selected(self.circuit, values))
        m.d.comb += self.unknown.eq(Cat(queue.unknown for queue in queues).any())
        if self.spec.protocol.link:
            self._receive(m, queues)
            self._number(m, queues)
        else:
            self._accept(m, queues)
        return m

    def _receive(self, m: Module, queues: list[CircuitQueue]) -> None:
        """Connect the link layer."""
        deframer = place(m, "deframer", Deframer(spec=self.spec))
        for number, queue in enumerate(queues):
            m.d.comb += [
                queue.i_valid.eq(deframer.valid[number]),
                queue.i.eq(deframer.word),
                queue.incoming.eq(deframer.incoming[number]),
                deframer.ready[number].eq(queue.i_ready),
                deframer.used[number].eq(queue.used),
            ]
        m.d.comb += [
            *(
                getattr(deframer.i, name).eq(getattr(self.i, name))
                for name in ("valid", "header", "data", "crc")
            ),
            *(
                getattr(self.message, name).eq(getattr(deframer.message, name))
                for name in ("valid", "kind", "phase", "peer", "sequence")
            ),
            *(
                getattr(self, name).eq(getattr(deframer, name))
                for name in (
                    *("limit", "synced", "granted", "granted_circuit", "granted_limit"),
                    *("came", "dropped", "overflow"),
                )
            ),
            self.kind.eq(deframer.kind_error),
            self.length.eq(deframer.length_error),
            self.stuck.eq(Cat(queue.stuck for queue in queues).any()),
            self.broken.eq(selected(self.circuit, [queue.broken for queue in queues])),
        ]

    def _number(self, m: Module, queues: list[CircuitQueue]) -> None:
        """Keep the number that is due of each flow, and say where packets are not."""
        spec, protocol = self.spec, self.spec.protocol
        memory = m.submodules.due = Memory(
            shape=len(self.due), depth=protocol.phases + spec.ports, init=[]
        )
        write = memory.write_port()
        for queue in queues:
            read = memory.read_port(domain="comb")
            m.d.comb += [read.addr.eq(queue.key), queue.due.eq(read.data)]
        read = memory.read_port(domain="comb")
        m.d.comb += [read.addr.eq(self.key), self.due.eq(read.data), write.en.eq(self.start)]
        # A packet that starts makes the one behind it due.
        keys = [queue.key for queue in queues]
        numbers = [queue.about.sequence for queue in queues]
        m.d.comb += [
            write.addr.eq(selected(self.circuit, keys)),
            write.data.eq(selected(self.circuit, numbers) + 1),
        ]
        with m.If(self.write):
            m.d.comb += [write.en.eq(1), write.addr.eq(self.key), write.data.eq(self.number)]
        pause = Signal(range(protocol.patience_cycles + 1))
        late = Cat(queue.late for queue in queues)
        early = Cat(queue.early for queue in queues)
        with m.If(pause != 0):
            m.d.sync += pause.eq(pause - 1)
        with m.Elif((late | early).any()):
            m.d.sync += [pause.eq(protocol.patience_cycles), self.late.eq(late.any())]
            m.d.sync += self.early.eq(~late.any())
            for here, key in zip(late | Mux(late.any(), 0, early), keys, strict=True):
                with m.If(here):
                    m.d.sync += self.event_key.eq(key)
        with m.If(self.event_taken):
            m.d.sync += [self.late.eq(0), self.early.eq(0)]
        with m.If(self.write):
            # The source is told at the same time; what is on its way is late or early all the same.
            m.d.sync += [pause.eq(protocol.patience_cycles), self.late.eq(0), self.early.eq(0)]

    def _accept(self, m: Module, queues: list[CircuitQueue]) -> None:
        """Give flits to the queue of their circuit, no more of a packet than fit."""
        protocol = self.spec.protocol
        ready = Signal(COUNT + 1)
        count = Signal(range(protocol.packet_flits))
        too_long, inside = Signal(), Signal()
        end = count == protocol.packet_flits - 1
        for number, queue in enumerate(queues):
            m.d.comb += [
                queue.i_valid.eq(self.i.valid & (self.i.circuit == number) & ~too_long),
                ready[number].eq(queue.i_ready | too_long),
                queue.i.first.eq(~inside),
                queue.i.last.eq(self.i.last | end),
                queue.i.about.phase.eq(self.i.phase),
                queue.i.about.peer.eq(self.i.peer),
                queue.i.data.eq(self.i.data),
            ]
        taken = Signal()
        m.d.comb += [
            ready[COUNT].eq(1),
            self.i.ready.eq(selected(self.i.circuit, list(ready))),
            taken.eq(self.i.valid & self.i.ready),
            self.kind.eq(taken & (self.i.circuit == COUNT)),
            self.came.eq(taken & ~self.kind & ~too_long),
            self.dropped.eq(taken & (self.kind | too_long)),
            self.length.eq(self.came & end & ~self.i.last),
        ]
        with m.If(taken & self.i.last):
            m.d.sync += [too_long.eq(0), inside.eq(0), count.eq(0)]
        with m.Elif(self.came):
            m.d.sync += [inside.eq(1), count.eq(count + 1), too_long.eq(end)]
