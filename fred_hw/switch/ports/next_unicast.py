"""Destination of a queue's next packet, known while the current one is served."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.late_choice import choose_late
from fred_hw.gates.select import gated
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .signatures import port_bits

__all__ = ["NextUnicast"]


class NextUnicast(Unit):
    """Store the destinations of the packets in a queue.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 2 cycles from ``enters`` if no other packet is there, 1 from ``leaves``.
    Throughput : one packet in, and one out, per cycle.
    Paths : none.
    Reset : forgets all packets.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    enters = member(In, 1)
    """A packet arrives."""
    online = member(In, 1)
    """Whether the packet is a unicast."""
    exit = member(In, lambda u: port_bits(u.spec))
    """Port by which the unicast leaves."""
    leaves = member(In, 1)
    """The first packet leaves, a cycle after ``enters`` or later: it starts, or is dropped."""
    destination = member(Out, lambda u: u.spec.ports)
    """The port by which the first packet leaves, one-hot; 0 without a packet, or if it belongs to a
    phase."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("NextUnicast", spec)
        self.unit_name = f"next_unicast_p{spec.ports}_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        packet = data.StructLayout({"online": 1, "exit": len(self.exit)})
        waiting = place(m, "waiting", Fifo(shape=packet, depth=self.spec.protocol.buffer_flits))
        here = Signal()
        held = Signal()
        # Arrivals settle late in their cycle.
        came = Signal()
        given = Signal(packet)
        m.d.sync += [came.eq(self.enters), given.online.eq(self.online), given.exit.eq(self.exit)]
        second = Signal(packet)
        source = Signal(packet)
        ports = Cat(source.exit == port for port in range(self.spec.ports))
        m.d.comb += [
            # One place behind the first, so that the queue need not know in this cycle what leaves,
            # which settles late.
            waiting.i.valid.eq(came & (held | waiting.o.valid)),
            waiting.i.payload.eq(given),
            waiting.o.ready.eq(~held),
            source.eq(given),
        ]
        with m.If(held):
            m.d.comb += source.eq(second)
        with m.Elif(waiting.o.valid):
            m.d.comb += source.eq(waiting.o.payload)
        there = wire(m, "there", held | waiting.o.valid | came)
        # A packet that leaves before it is seen here was the only one.
        behind = wire(m, "behind", held | waiting.o.valid | (came & here))
        # Departures settle late in their cycle, and select.
        stays = Cat(here | there, Mux(here, self.destination, gated(ports, there & source.online)))
        goes = Cat(behind, gated(ports, behind & source.online))
        after = choose_late(m, "after", self.leaves, goes, stays)
        m.d.sync += [
            here.eq(after[0]),
            self.destination.eq(after[1:]),
            held.eq(here & there & ~self.leaves),
        ]
        with m.If(~held):
            m.d.sync += second.eq(source)
