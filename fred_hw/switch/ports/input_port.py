"""Input port: one queue per virtual channel, and the expected packet numbers."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import number_bits
from fred_hw.control.routes import routes_layout
from fred_hw.gates.memory_ports import read_port, write_port
from fred_hw.gates.select import first_of, may_pass, next_grant, one_hot_mux, selected
from fred_hw.member import member
from fred_hw.per_class import array_per_class, channels_of, per_class
from fred_hw.spec import SwitchSpec, check_spec, sized_name
from fred_hw.unit import place

from .arrivals import Arrivals, join_queues, store_payload
from .circuit_queue import CircuitQueue
from .next_unicast import NextUnicast
from .occupancy import Occupancy
from .signatures import Due, Event, Head

__all__ = ["InputPort"]


class InputPort(Arrivals):
    """Queue packets by virtual channel until their flow takes them.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 2 cycles from a flit to the head of its queue. From there to ``head.waiting``: 1 cycle
        if nothing is before the packet and, in the cycle before the head, no packet starts and no
        number is written or requested; otherwise 2 cycles, and 1 for each more urgent channel that
        requests a number; 0 if the packet follows one that has started. 3 cycles from ``changed``
        and ``due.write`` to ``head.waiting``. 2 cycles from ``head.take`` to ``flit``.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : forgets all packets, and keeps the numbers.
    """

    enable = member(In, 1)
    """Whether packets are checked."""
    serves: data.View = member(In, array_per_class(lambda u: u.spec.protocol.phases))
    """For each channel the phases that take packets from this port."""
    served = member(In, lambda u: u.spec.protocol.fields["phase"])
    """Phase that is served in this cycle."""
    following = member(In, lambda u: u.spec.protocol.fields["phase"])
    """Phase that is served in the next cycle if ``load`` is high."""
    load = member(In, 1)
    """The served phase changes after this cycle."""
    head: Head = member(Out, lambda u: Head.signature(u.spec))
    """Packets that may start, and the control of one."""
    # Placed here, since the order of ports is part of the hash of a measured design.
    flit = Arrivals.flit
    changed = member(In, 1)
    """A phase changes."""
    routes: data.View = member(In, lambda u: routes_layout(u.spec))
    """Port by which unicasts leave. Unicasts to an address without a route are dropped."""
    exit, handshake, down, came = Arrivals.exit, Arrivals.handshake, Arrivals.down, Arrivals.came
    dropped = Arrivals.dropped
    unknown = member(Out, 1)
    """High for a cycle for each packet of the phase's generation that the phase does not take from
    this port."""
    length, kind, overflow = Arrivals.length, Arrivals.kind, Arrivals.overflow
    stuck, route, i, credit = Arrivals.stuck, Arrivals.route, Arrivals.i, Arrivals.credit
    message = Arrivals.message
    due: Due = member(Out, lambda u: Due.signature(u.spec))
    """Expected packet numbers."""
    event: Event = member(Out, lambda u: Event.signature(u.spec))
    """A packet of a flow was dropped because its number is before or after the expected one. A
    channel has at most one such event in ``packet_timeout_cycles``, and none for the same time
    after ``due.write``."""
    queued = member(Out, lambda u: u.spec.protocol.phases)
    """Phases with a packet in a queue."""
    unicasts = member(Out, 1)
    """Whether a unicast is in a queue."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("InputPort", spec)
        self.unit_name = sized_name("input_port", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        queues = [
            place(m, f"circuit_{name}", CircuitQueue(spec=self.spec))
            for name in channels_of(self).names
        ]
        for number, queue in enumerate(queues):
            mine = self.head.circuit == number
            m.d.comb += [
                queue.enable.eq(self.enable),
                queue.serves.eq(self.serves[number]),
                queue.start.eq(self.head.start & mine),
                queue.take.eq(self.head.take & mine),
                queue.finish.eq(self.head.finish & mine),
                queue.served.eq(self.served),
                queue.following.eq(self.following),
                queue.load.eq(self.load),
                self.head.waiting[number].eq(queue.waiting),
                self.head.anew[number].eq(queue.anew),
                self.head.of_phase[number].eq(queue.of_phase),
                self.head.descriptor[number].eq(queue.descriptor),
                self.head.exits[number].eq(queue.exit),
                *(
                    getattr(self.head, name)[number].eq(getattr(queue, name))
                    for name in ("valid", "last", "broken")
                ),
            ]
            self._foresee(m, number, queue)
        for name in ("unknown", "stuck"):
            m.d.comb += getattr(self, name).eq(Cat(getattr(queue, name) for queue in queues).any())
        word = self._receive(m, queues)
        self._store(m, queues, word)
        self._number(m, queues, word)
        self._events(m, queues)
        self._count(m, queues)

    def _foresee(self, m: Module, number: int, queue: CircuitQueue) -> None:
        """Report the destination of a virtual channel's next packet, if it is a unicast."""
        coming = place(m, f"coming_{channels_of(self).names[number]}", NextUnicast(spec=self.spec))
        m.d.comb += [
            coming.enters.eq(queue.enters),
            coming.online.eq(queue.mark.descriptor.phase == self.spec.protocol.online),
            coming.exit.eq(queue.mark.exit),
            coming.leaves.eq(queue.leaves),
            self.head.coming[number].eq(coming.destination),
        ]

    def _receive(self, m: Module, queues: list[CircuitQueue]) -> data.View:
        """Connect the link layer; return received flits."""
        deframer, more = join_queues(m, self, queues, self._route(m))
        for queue, may in zip(queues, more, strict=True):
            # The end of the input ends a packet; as this path is long, it counts a cycle later.
            incoming = Signal.like(queue.incoming)
            m.d.sync += incoming.eq(may)
            m.d.comb += queue.incoming.eq(incoming)
        stale = Cat(queue.stale for queue in queues).any()
        m.d.comb += self.dropped.eq(deframer.dropped | self.route | stale)
        return deframer.o[0].word

    def _route(self, m: Module) -> Signal:
        """Look up the output of received packets; return whether there is none, once checked."""
        entry = Signal(self.routes.shape().elem_shape)
        astray = Signal()
        m.d.comb += entry.eq(selected(self.i.header.destination, list(self.routes)))
        nowhere = entry == 0
        if may_pass(entry, self.spec.ports):
            nowhere = nowhere | (entry > self.spec.ports)
        m.d.sync += [astray.eq(self.i.header.unicast & nowhere), self.exit.eq(entry - 1)]
        return astray

    def _store(self, m: Module, queues: list[CircuitQueue], word: data.View) -> None:
        """Store the payload of all virtual channels in one memory, and output the taken flit's."""
        read = store_payload(m, queues, word, self.head)
        taken = Signal()
        m.d.sync += [taken.eq(read.en), self.flit.valid.eq(taken)]
        with m.If(taken):
            m.d.sync += self.flit.data.eq(read.data)

    def _number(self, m: Module, queues: list[CircuitQueue], word: data.View) -> None:
        """Store the expected number of each phase, and its generation."""
        due, head, bits = self.due, self.head, number_bits(self.spec)
        known = data.StructLayout({"number": len(due.due), "generation": len(due.generation)})
        memory = m.submodules.due = Memory(shape=known, depth=1 << bits, init=[])
        write = write_port(memory, "due_write")
        asked, read = (read_port(memory, name) for name in ("due_asked", "due_read"))
        asks = Cat(queue.asks for queue in queues)
        answered = Signal(per_class(self))
        comes = word.descriptor
        prefetched = ~asks.any() & word.first & self.enable & ~head.start & ~due.write
        phases = [queue.descriptor.phase for queue in queues]
        circuit = head.circuit
        starting = Signal.like(phases[0])
        numbered = head.start & (starting != self.spec.protocol.online)
        m.d.comb += [
            asked.addr.eq(due.key),
            asked.en.eq(1),
            due.due.eq(asked.data.number),
            answered.eq(first_of(m, "asks", asks)),
            read.en.eq(1),
            read.addr.eq(comes.phase[:bits]),
            starting.eq(selected(circuit, phases)),
            # A packet that starts makes the next number the expected one, in its flow's generation.
            write.en.eq(numbered | due.write),
            write.addr.eq(starting[:bits]),
            write.data.number.eq(selected(circuit, [q.descriptor.sequence for q in queues]) + 1),
            write.data.generation.eq(selected(circuit, [q.descriptor.generation for q in queues])),
        ]
        with m.If(asks.any()):
            m.d.comb += read.addr.eq(one_hot_mux(answered, [phase[:bits] for phase in phases]))
        with m.If(due.write):
            m.d.comb += [
                write.addr.eq(due.at),
                write.data.number.eq(due.number),
                write.data.generation.eq(due.generation),
            ]
        for number, queue in enumerate(queues):
            others = numbered & (circuit != number)
            m.d.comb += [
                queue.answered.eq(answered[number]),
                queue.prefetched.eq(prefetched),
                queue.due.eq(read.data.number),
                queue.generation.eq(read.data.generation),
                queue.changed.eq(due.write | self.changed),
                queue.overtaken.eq(others & (starting == phases[number])),
            ]

    def _count(self, m: Module, queues: list[CircuitQueue]) -> None:
        """Report which phases have packets here, and whether there are unicasts."""
        occupancy = place(m, "occupancy", Occupancy(spec=self.spec))
        m.d.comb += [
            occupancy.enters.eq(Cat(queue.enters for queue in queues).any()),
            # One packet arrives at a time, and all queues see its phase.
            occupancy.comes.eq(queues[0].mark.descriptor.phase),
            occupancy.leaves.eq(Cat(queue.leaves for queue in queues)),
            occupancy.goes.eq(Cat(queue.descriptor.phase for queue in queues)),
            self.queued.eq(occupancy.queued),
            self.unicasts.eq(occupancy.unicasts),
        ]

    def _events(self, m: Module, queues: list[CircuitQueue]) -> None:
        """Report packets with unexpected numbers."""
        timeout = self.spec.protocol.packet_timeout_cycles
        event, behind = self.event, Signal(len(queues), name="behind_event")
        pauses = [Signal(range(timeout + 1), name=f"pause_{k}") for k in range(len(queues))]
        late, early = (
            Cat(
                getattr(queue, name) & (pause == 0)
                for queue, pause in zip(queues, pauses, strict=True)
            )
            for name in ("late", "early")
        )
        # Each virtual channel has its own pause: with a common one, of two sources that retransmit
        # at the same times, one would always be answered and the other never.
        wanting = Mux(late.any(), late, early)
        chosen, later = next_grant(m, "event_of", wanting, behind)
        with m.If(~event.late & ~event.early & wanting.any()):
            m.d.sync += [event.late.eq(late.any()), event.early.eq(~late.any()), behind.eq(later)]
            m.d.sync += event.key.eq(
                one_hot_mux(chosen, [queue.descriptor.phase[: len(event.key)] for queue in queues])
            )
        for k, pause in enumerate(pauses):
            with m.If(~event.late & ~event.early & chosen[k]):
                m.d.sync += pause.eq(timeout)
            with m.Elif(pause != 0):
                m.d.sync += pause.eq(pause - 1)
        with m.If(event.taken):
            m.d.sync += [event.late.eq(0), event.early.eq(0)]
        with m.If(self.due.write):
            # The source is informed at the same time; packets in flight are late or early anyway.
            m.d.sync += [event.late.eq(0), event.early.eq(0)]
            m.d.sync += [pause.eq(timeout) for pause in pauses]
