"""Queue of a virtual channel's flits without payload."""

from typing import NamedTuple

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.member import member
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

__all__ = ["FlitHead", "FlitQueue"]


class FlitHead(NamedTuple):
    """The head of a queue: whether there is a flit, the flit, and whether it leaves.

    Behind it whether there is a next one, that flit, and whether it moves to the head, straight as
    it comes.
    """

    here: Signal
    mark: data.View
    pop: Signal
    comes: Signal
    following: data.View
    moves: Signal
    direct: Value


class FlitQueue(Unit):
    """Queue flits, and track where their payload is; base of the queues of ports.

    Attributes
    ----------
    spec : SwitchSpec
        Sizes.
    layout : StructLayout
        Layout of a flit without payload: ``first``, ``last``, ``descriptor`` and ``exit``.
    """

    spec: SwitchSpec
    layout: data.StructLayout
    arrives = member(In, 1)
    """A flit arrives."""
    incoming = member(In, 1)
    """Whether more of the previous flit's packet may arrive."""
    start = member(In, 1)
    """Start the packet, together with ``take``."""
    take = member(In, 1)
    """Take a flit."""
    finish = member(In, 1)
    """End the packet; the rest of it is dropped."""
    ready = member(Out, 1)
    """Whether there is space for a flit, which is lost otherwise."""
    waiting = member(Out, 1)
    """A packet may start."""
    valid = member(Out, 1)
    """A flit is present."""
    last = member(Out, 1)
    """The flit ends the packet."""
    broken = member(Out, 1)
    """The rest of the packet is missing and will not arrive."""
    stuck = member(Out, 1)
    """High for a cycle when a packet is dropped because it has waited for
    ``head_of_line_timeout_cycles``."""
    enters = member(Out, 1)
    """High for a cycle when the first flit of a packet arrives."""
    leaves = member(Out, 1)
    """High for a cycle when the first flit of a packet leaves."""
    mark: data.View = member(In, lambda u: u.layout)
    """Mark of the arriving flit."""
    used = member(Out, lambda u: range(u.spec.protocol.buffer_flits + 1))
    """Flits inside, where a departing flit counts for one cycle more."""
    tail = member(Out, lambda u: range(u.spec.protocol.buffer_flits))
    """Position of the payload of an arriving flit."""
    place = member(Out, lambda u: range(u.spec.protocol.buffer_flits))
    """Position of the payload of the head."""
    descriptor: data.View = member(Out, lambda u: u.layout["descriptor"].shape)
    """Descriptor of the packet."""

    def advance(self, m: Module) -> FlitHead:
        """Move flits to the head, and return the head; the subclass decides when it leaves.

        There is a place for one flit behind the head, so that the memory does not depend on whether
        the head leaves.
        """
        layout, depth = self.mark.shape(), self.spec.protocol.buffer_flits
        marks = place(m, "marks", Fifo(shape=layout, depth=depth))
        here = Signal()
        head = Signal(layout)
        pop = Signal()
        second = Signal(layout, reset_less=True)
        held = Signal()
        source = Signal(layout)
        comes = Signal()
        came = Signal()
        moves = Signal()
        m.d.comb += [
            came.eq(self.arrives & self.ready),
            self.enters.eq(came & self.mark.first),
            marks.i.valid.eq(came & (held | marks.o.valid)),
            marks.i.payload.eq(self.mark),
            marks.o.ready.eq(~held),
            comes.eq(held | marks.o.valid | came),
            moves.eq(comes & (~here | pop)),
            source.eq(self.mark),
        ]
        with m.If(held):
            m.d.comb += source.eq(second)
        with m.Elif(marks.o.valid):
            m.d.comb += source.eq(marks.o.payload)
        with m.If(~here | pop):
            m.d.sync += [here.eq(comes), held.eq(0)]
        with m.Elif(~held):
            m.d.sync += [held.eq(comes), second.eq(source)]
        with m.If(moves):
            m.d.sync += head.eq(source)
        return FlitHead(here, head, pop, comes, source, moves, ~held & ~marks.o.valid)

    def give(self, m: Module, head: FlitHead, inside: Signal, thrown: Value) -> None:
        """Offer the head; remove it when it is taken, skipped or dropped (``thrown``).

        While ``inside``, the packet at the head has started and has not finished.
        """
        with m.If(self.finish):
            m.d.sync += inside.eq(0)
        with m.Elif(self.start):
            m.d.sync += inside.eq(1)
        # Between packets, a flit that starts none remains of a packet that has finished or was
        # dropped, even if it arrives later.
        left_over = head.here & ~inside & ~head.mark.first
        m.d.comb += [
            self.descriptor.eq(head.mark.descriptor),
            self.last.eq(head.mark.last),
            # Without a head the queue is empty.
            self.broken.eq(inside & Mux(head.here, head.mark.first, ~self.incoming)),
            head.pop.eq((self.take & self.valid) | thrown | left_over),
            self.leaves.eq(head.pop & head.mark.first),
        ]
        self._keep_places(m, head.pop)

    def _keep_places(self, m: Module, pop: Value) -> None:
        """Report the payload's location, and its amount."""
        depth = self.spec.protocol.buffer_flits
        came = self.arrives & self.ready
        used = Signal(range(depth + 1))
        gone = Signal()
        m.d.comb += [self.used.eq(used), self.ready.eq(used != depth)]
        # The removal settles late in its cycle.
        m.d.sync += [gone.eq(pop), used.eq(used + came - gone)]
        before = Signal.like(self.place, name="place_before")
        behind = Signal.like(self.place, name="place_behind")
        m.d.comb += self.place.eq(Mux(gone, behind, before))
        m.d.sync += [before.eq(self.place), behind.eq(_next(self.place, depth))]
        with m.If(came):
            m.d.sync += self.tail.eq(_next(self.tail, depth))


def _next(place_of: Value, depth: int) -> Value:
    """Return the position after another."""
    return Mux(place_of == depth - 1, 0, place_of + 1)
