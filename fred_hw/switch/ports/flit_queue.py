"""Queue of the flits of a virtual circuit, without their payload: base of those that judge them."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from fred_hw.gates.fifo import Fifo
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

__all__ = ["FlitQueue"]


class FlitQueue(Unit):
    """Queue flits, and know where their payload is; base of queues, with what they share.

    Attributes
    ----------
    spec : SwitchSpec
        Sizes.
    """

    spec: SwitchSpec
    arrives: Signal
    mark: data.View
    ready: Signal
    used: Signal
    tail: Signal
    place: Signal
    enters: Signal

    def advance(
        self, m: Module, here: Signal, head: data.View, pop: Value
    ) -> tuple[data.View, Signal, Signal, Value]:
        """Move flits to the head.

        Return the next one, whether there is one, whether it moves, and whether it just comes.

        Behind the head there is a place for one flit, so that what goes into the memory or comes
        out of it need not know whether the head goes.
        """
        layout, depth = self.mark.shape(), self.spec.protocol.buffer_flits
        marks = place(m, "marks", Fifo(shape=layout, depth=depth))
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
        return source, comes, moves, ~held & ~marks.o.valid

    def keep_places(self, m: Module, pop: Value) -> None:
        """Say where payload is, and how much there is."""
        depth = self.spec.protocol.buffer_flits
        came, used, gone = self.arrives & self.ready, Signal(range(depth + 1)), Signal()
        m.d.comb += [self.used.eq(used), self.ready.eq(used != depth)]
        # What goes is known late in its cycle.
        m.d.sync += [gone.eq(pop), used.eq(used + came - gone)]
        before, behind = Signal.like(self.place), Signal.like(self.place)
        m.d.comb += self.place.eq(Mux(gone, behind, before))
        m.d.sync += [before.eq(self.place), behind.eq(_next(self.place, depth))]
        with m.If(came):
            m.d.sync += self.tail.eq(_next(self.tail, depth))


def _next(place_of: Value, depth: int) -> Value:
    """Return the place behind another."""
    return Mux(place_of == depth - 1, 0, place_of + 1)
