"""Order of a chunk's dimensions by load (Themis)."""

from collections.abc import Sequence
from functools import partial

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.fsm import Fsm
from fred_hw.member import member
from fred_hw.unit import Unit

__all__ = ["GAP_SHIFT", "LoadTracker", "order_layout"]

GAP_SHIFT = 4
"""A gap between loads counts if a chunk smaller by this power of two would fill it."""

_MOST = 8  # dimensions, of which sorting takes a cycle each


def order_layout(npus: Sequence[int]) -> data.ArrayLayout:
    """Return the layout of an order: dimensions, with the first one to visit lowest."""
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
        Reciprocal of the bandwidth of each dimension, 1 or more; only ratios matter.
    load_width : int
        Bits of a load, 1 or more. Loads saturate.
    chunk_width : int
        Bits of the size of a chunk, 1 or more.

    Timing
    ------
    Latency : 2 D + 4 cycles of D dimensions, from a chunk taken to its order offered.
    Throughput : one chunk every 2 D + 5 cycles.
    Paths : none.
    Reset : sets all loads to 0 and forgets the chunk.

    Raises
    ------
    TypeError, ValueError
        A parameter is none of these, or there is not one reciprocal for each dimension.
    """

    i: stream.Interface = member(In, lambda u: stream.Signature(u.chunk_width))
    """Sizes of chunks [B]."""
    o: stream.Interface = member(Out, lambda u: stream.Signature(order_layout(u.npus)))
    """The order of each chunk."""
    clear = member(In, 1)
    """Set all loads to 0; taken in a cycle in which ``i.ready`` is high. A chunk that comes in the
    same cycle is the first of the next collective."""

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
        super().__init__()

    def build(self, m: Module) -> None:
        count = len(self.npus)
        places = order_layout(self.npus).elem_shape
        loads = [Signal(self.load_width, name=f"load_{d}") for d in range(count)]
        last = [Signal(places, init=d, name=f"last_{d}") for d in range(count)]
        keys = [Signal(self.load_width, name=f"key_{d}", reset_less=True) for d in range(count)]
        left = Signal(self.chunk_width, reset_less=True)
        step = Signal(range(count + 1))
        fsm = Fsm(m, "idle", "sort", "gap", "judge", "walk", "offer")
        m.d.comb += [
            self.i.ready.eq(fsm.ongoing("idle")),
            self.o.valid.eq(fsm.ongoing("offer")),
            Value.cast(self.o.payload).eq(Cat(last)),
        ]
        m.d.sync += step.eq(0)
        with fsm.state("idle"):
            with m.If(self.clear):
                m.d.sync += [load.eq(0) for load in loads]
                m.d.sync += [one.eq(d) for d, one in enumerate(last)]
            m.d.sync += left.eq(self.i.payload)
            for one, key in zip(last, keys, strict=True):
                m.d.sync += key.eq(Mux(self.clear, 0, _chosen(one, loads)))
            with m.If(self.i.valid):
                fsm.go("sort")
        with fsm.state("sort"):
            self._sort(m, step[0], keys, last)
            m.d.sync += step.eq(step + 1)
            with m.If(step == count - 1):
                m.d.sync += step.eq(0)
                fsm.go("gap")
        self._judge(m, fsm, keys, last, left)
        with fsm.state("walk"):
            self._book(m, _chosen(step, last), loads, left, step == 0)
            m.d.sync += step.eq(step + 1)
            with m.If(step == count):
                fsm.go("offer")
        with fsm.state("offer"), m.If(self.o.ready):
            fsm.go("idle")

    def _sort(self, m: Module, odd: Value, keys: Sequence[Signal], last: Sequence[Signal]) -> None:
        """Exchange neighbours whose first load is larger, in alternating pairs.

        After as many rounds as there are dimensions all are in order; equal ones keep theirs.
        """
        for k in range(len(keys) - 1):
            with m.If((odd == k % 2) & (keys[k] > keys[k + 1])):
                m.d.sync += [keys[k].eq(keys[k + 1]), keys[k + 1].eq(keys[k])]
                m.d.sync += [last[k].eq(last[k + 1]), last[k + 1].eq(last[k])]

    def _judge(
        self, m: Module, fsm: Fsm, keys: Sequence[Signal], last: Sequence[Signal], left: Signal
    ) -> None:
        """Use the fixed order if a small fraction of a chunk would fill the gap between loads.

        What fills a gap sends (n - 1) / n of itself, at the reciprocal of the bandwidth.
        """
        least = left >> GAP_SHIFT
        both = [*zip(self.npus, self.reciprocals, strict=True)]
        limits = [least * Const((npus - 1) * rate) for npus, rate in both]
        limit = Signal(max(map(len, limits)), reset_less=True)
        gap = Signal(self.load_width, reset_less=True)
        with fsm.state("gap"):
            m.d.sync += [gap.eq(keys[-1] - keys[0]), limit.eq(_chosen(last[0], limits))]
            fsm.go("judge")
        with fsm.state("judge"):
            even = [gap * Const(npus) < limit for npus in self.npus]
            with m.If(_chosen(last[0], even)):
                m.d.sync += [one.eq(d) for d, one in enumerate(last)]
            fsm.go("walk")

    def _book(
        self, m: Module, dimension: Value, loads: Sequence[Signal], left: Signal, first: Value
    ) -> None:
        """Add the bytes that a reduce-scatter sends to the load, and reduce the chunk size.

        The chunk becomes as small as the part of it that each NPU has after the reduce-scatter.
        """
        both = [*zip(self.npus, self.reciprocals, strict=True)]
        shifts = [left >> (npus.bit_length() - 1) for npus in self.npus]
        sends = [
            (left - after) * Const(rate) for after, (_, rate) in zip(shifts, both, strict=True)
        ]
        sent = Signal(max(map(len, sends)), reset_less=True)
        along = Signal(order_layout(self.npus).elem_shape, reset_less=True)
        m.d.sync += [
            sent.eq(_chosen(dimension, sends)),
            left.eq(_chosen(dimension, shifts)),
            along.eq(dimension),
        ]
        for d, load in enumerate(loads):
            total = load + sent
            full = total[self.load_width :].any()
            with m.If(~first & (along == d)):
                m.d.sync += load.eq(Mux(full, (1 << self.load_width) - 1, total))


def _integers(name: str, values: object, allowed: str) -> tuple[int, ...]:
    """Return a sequence of integers as a tuple."""
    sequence = isinstance(values, list | tuple)
    if not sequence or any(isinstance(one, bool) or not isinstance(one, int) for one in values):
        raise TypeError(f"LoadTracker {name} must be {allowed}, not {values!r}")
    return tuple(values)


def _chosen(number: Value, values: Sequence[Value]) -> Value:
    """Return the value with a given number."""
    found = values[-1]
    for place in range(len(values) - 2, -1, -1):
        found = Mux(number == place, values[place], found)
    return found
