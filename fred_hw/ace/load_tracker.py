"""The order in which a chunk of a collective takes the dimensions of a network (Themis)."""

from collections.abc import Sequence
from functools import partial

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.fsm import Fsm
from fred_hw.unit import Unit

__all__ = ["GAP_SHIFT", "LoadTracker", "order_layout"]

GAP_SHIFT = 4
"""A gap between loads counts if a chunk of this many powers of two less than the next fills it."""

_MOST = 8  # dimensions: the sorting network is one gate level deep for each


def order_layout(npus: Sequence[int]) -> data.ArrayLayout:
    """Return the layout of an order: dimensions, the one that a chunk visits first the lowest."""
    return data.ArrayLayout(max(1, (len(npus) - 1).bit_length()), len(npus))


class LoadTracker(Unit):
    """Send each chunk of a reduce-scatter first through the dimension with the least load.

    A load is the bytes that an NPU sends along a dimension, times the reciprocal of its bandwidth.
    Orders are those of ``perfmodel.collectives.themis`` while chunks are of one size that the NPUs
    divide, and no load is saturated. Ties keep the order that the last chunk left. A chunk takes
    the fixed order, dimension 0 first, if one of its ``2**-GAP_SHIFT`` would fill the gap between
    the least and the largest load.

    Parameters
    ----------
    npus : sequence of int
        NPUs in a line of each dimension, powers of two from 2 on; 1 to 8 dimensions.
    reciprocals : sequence of int
        Of the bandwidth of each dimension, 1 or more; only ratios matter.
    load_width : int
        Bits of a load, 1 or more. Loads saturate.
    chunk_width : int
        Bits of the size of a chunk, 1 or more.

    Members
    -------
    i : In(stream.Signature(chunk_width))
        Sizes of chunks [B].
    o : Out(stream.Signature(order_layout(npus)))
        The order of each chunk.
    clear : In(1)
        Set all loads to 0; taken in a cycle in which ``i.ready`` is high. A chunk that comes in
        the same cycle is the first of the next collective.

    Timing
    ------
    Latency : D + 2 cycles of D dimensions, from a chunk taken to its order offered.
    Throughput : one chunk every D + 3 cycles.
    Paths : none.
    Reset : sets all loads to 0 and forgets the chunk.

    Raises
    ------
    TypeError, ValueError
        A parameter is none of these, or there is not one reciprocal for each dimension.
    """

    i: stream.Interface
    o: stream.Interface
    clear: Signal

    def __init__(
        self,
        *,
        npus: Sequence[int],
        reciprocals: Sequence[int],
        load_width: int,
        chunk_width: int,
    ) -> None:
        positive = partial(check_int, minimum=1)
        allowed = f"1 to {_MOST} powers of two from 2 on"
        self.npus = _integers("npus", npus, allowed)
        wrong = [one for one in self.npus if one < 2 or one & (one - 1)]
        if wrong or not 1 <= len(self.npus) <= _MOST:
            raise ValueError(f"LoadTracker npus must be {allowed}, not {npus!r}")
        allowed = f"{len(self.npus)} integers from 1 on, one for each of npus"
        self.reciprocals = _integers("reciprocals", reciprocals, allowed)
        if len(self.reciprocals) != len(self.npus) or min(self.reciprocals) < 1:
            raise ValueError(f"LoadTracker reciprocals must be {allowed}, not {reciprocals!r}")
        self.load_width = positive("LoadTracker load_width", load_width)
        self.chunk_width = positive("LoadTracker chunk_width", chunk_width)
        shapes = zip(self.npus, self.reciprocals, strict=True)
        sizes = "_".join(f"n{count}x{rate}" for count, rate in shapes)
        self.unit_name = f"load_tracker_{sizes}_l{load_width}_c{chunk_width}"
        orders = stream.Signature(order_layout(npus))
        super().__init__({"i": In(stream.Signature(chunk_width)), "o": Out(orders), "clear": In(1)})

    def build(self, m: Module) -> None:
        count = len(self.npus)
        places = order_layout(self.npus).elem_shape
        loads = [Signal(self.load_width, name=f"load_{d}") for d in range(count)]
        last = [Signal(places, init=d, name=f"last_{d}") for d in range(count)]
        gap, even = Signal(self.load_width), Signal()
        left, step = Signal(self.chunk_width), Signal(range(count))
        fsm = Fsm(m, "idle", "judge", "walk", "offer")
        m.d.comb += [
            self.i.ready.eq(fsm.ongoing("idle")),
            self.o.valid.eq(fsm.ongoing("offer")),
            Value.cast(self.o.payload).eq(Cat(last)),
        ]
        with fsm.state("idle"):
            seen = [Mux(self.clear, 0, load) for load in loads]
            with m.If(self.clear):
                m.d.sync += [load.eq(0) for load in loads]
                m.d.sync += [one.eq(d) for d, one in enumerate(last)]
            order = [Mux(self.clear, d, one) for d, one in enumerate(last)]
            entries = self._sorted(m, [(_chosen(one, seen), one) for one in order])
            with m.If(self.i.valid):
                m.d.sync += [one.eq(entry) for one, (_, entry) in zip(last, entries, strict=True)]
                m.d.sync += [gap.eq(entries[-1][0] - entries[0][0]), left.eq(self.i.payload)]
                fsm.go("judge")
        with fsm.state("judge"):
            m.d.comb += even.eq(_chosen(last[0], self._too_small(gap, left)))
            with m.If(even):
                m.d.sync += [one.eq(d) for d, one in enumerate(last)]
            m.d.sync += step.eq(0)
            fsm.go("walk")
        with fsm.state("walk"):
            self._book(m, _chosen(step, last), loads, left)
            m.d.sync += step.eq(step + 1)
            with m.If(step == count - 1):
                fsm.go("offer")
        with fsm.state("offer"), m.If(self.o.ready):
            fsm.go("idle")

    def _sorted(self, m: Module, entries: list[tuple[Value, Value]]) -> list[tuple[Value, Value]]:
        """Return loads and their dimensions by load; equal ones keep their order."""
        entries = list(entries)
        for end in range(len(entries) - 1, 0, -1):
            for k in range(end):
                (a, first), (b, second) = entries[k], entries[k + 1]
                swap = Signal(name=f"swap_{end}_{k}")
                m.d.comb += swap.eq(a > b)
                entries[k] = Mux(swap, b, a), Mux(swap, second, first)
                entries[k + 1] = Mux(swap, a, b), Mux(swap, first, second)
        return entries

    def _too_small(self, gap: Value, chunk: Value) -> list[Value]:
        """Return of each dimension whether what fills a gap on it is less than a chunk's part.

        What fills it sends (n - 1) / n of itself, at the reciprocal of the bandwidth.
        """
        least = chunk >> GAP_SHIFT
        both = zip(self.npus, self.reciprocals, strict=True)
        return [gap * Const(npus) < least * Const((npus - 1) * rate) for npus, rate in both]

    def _book(self, m: Module, dimension: Value, loads: Sequence[Signal], left: Signal) -> None:
        """Add a reduce-scatter along a dimension to its load, and have the chunk shrink."""
        both = zip(self.npus, self.reciprocals, strict=True)
        for d, (npus, rate) in enumerate(both):
            shift = npus.bit_length() - 1
            with m.If(dimension == d):
                total = loads[d] + (left - (left >> shift)) * Const(rate)
                most = (1 << self.load_width) - 1
                m.d.sync += [loads[d].eq(Mux(total > most, most, total)), left.eq(left >> shift)]


def _integers(name: str, values: object, allowed: str) -> tuple[int, ...]:
    """Return a sequence of integers as a tuple."""
    sequence = isinstance(values, list | tuple)
    if not sequence or any(isinstance(one, bool) or not isinstance(one, int) for one in values):
        raise TypeError(f"LoadTracker {name} must be {allowed}, not {values!r}")
    return tuple(values)


def _chosen(number: Value, values: Sequence[Value]) -> Value:
    """Return the value of a number."""
    found = values[-1]
    for place in range(len(values) - 2, -1, -1):
        found = Mux(number == place, values[place], found)
    return found
