"""Queue of a virtual channel's flits without payload."""

from typing import NamedTuple

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from fred_hw.gates.fifo import Fifo
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
    """

    spec: SwitchSpec
    arrives: Signal
    mark: data.View
    incoming: Signal
    ready: Signal
    used: Signal
    tail: Signal
    place: Signal
    waiting: Signal
    descriptor: data.View
    start: Signal
    take: Signal
    finish: Signal
    valid: Signal
    last: Signal
    broken: Signal
    stuck: Signal
    enters: Signal
    leaves: Signal

    def advance(self, m: Module) -> FlitHead:
        """Move flits to the head, and return the head; the subclass decides when it leaves.

        There is a place for one flit behind the head, so that the memory does not depend on whether
        the head leaves.
        """
        layout, depth = self.mark.shape(), self.spec.protocol.buffer_flits
        marks = place(m, "marks", Fifo(shape=layout, depth=depth))
        here, head, pop = Signal(), Signal(layout), Signal()
        second, held = Signal(layout, reset_less=True), Signal()
        source, comes, came, moves = Signal(layout), Signal(), Signal(), Signal()
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
        came, used, gone = self.arrives & self.ready, Signal(range(depth + 1)), Signal()
        m.d.comb += [self.used.eq(used), self.ready.eq(used != depth)]
        # The removal settles late in its cycle.
        m.d.sync += [gone.eq(pop), used.eq(used + came - gone)]
        before, behind = Signal.like(self.place), Signal.like(self.place)
        m.d.comb += self.place.eq(Mux(gone, behind, before))
        m.d.sync += [before.eq(self.place), behind.eq(_next(self.place, depth))]
        with m.If(came):
            m.d.sync += self.tail.eq(_next(self.tail, depth))


def _next(place_of: Value, depth: int) -> Value:
    """Return the position after another."""
    return Mux(place_of == depth - 1, 0, place_of + 1)
