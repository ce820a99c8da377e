"""Parts of a chunk, one after the other, downwards and around."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec

from .work import count_bits, place_bits, sizes_name, work_layout

__all__ = ["AceWalker"]


class AceWalker(Unit):
    """Tell where the parts of a chunk are, from the first on downwards, the last behind the lowest.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    work : In(work_layout(spec))
        Constant while parts are asked for.
    begin, base : In(1), In(count)
        Begin a chunk, at the first part; its first flit in each block.
    step : In(1)
        Go on to the next part; not with ``begin``.
    ready : Out(1)
        What is said is so.
    place, offset, size : Out(place), Out(count + 1), Out(count)
        Of the part: place in the slot, in the buffer, and flits, which may be 0.

    Timing
    ------
    Latency : 4 cycles from ``begin``, and 3 from ``step``, to ``ready``.
    Throughput : a part per 3 cycles.
    Paths : none.
    Reset : nothing is ready.
    """

    work: data.View
    begin: Signal
    base: Signal
    step: Signal
    ready: Signal
    place: Signal
    offset: Signal
    size: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceWalker", spec)
        self.unit_name = sizes_name("ace_walker", spec)
        count = count_bits(spec)
        super().__init__(
            {
                "work": In(work_layout(spec)),
                "begin": In(1),
                "base": In(count),
                "step": In(1),
                "ready": Out(1),
                "place": Out(place_bits(spec)),
                "offset": Out(count + 1),
                "size": Out(count),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        work, count = self.work, len(self.base)
        base, left, run = (Signal(count, name=name) for name in ("chunk", "left", "run"))
        wrap, rest = Signal(count + 1), Signal(count + 1)
        wait = Signal(2)
        m.d.sync += [
            left.eq(work.block - base),
            wrap.eq(work.last_offset + base),
            run.eq(Mux(left < work.message, left, work.message)),
            rest.eq(Mux(self.offset < work.total, work.total - self.offset, 0)),
            self.size.eq(Mux(rest < run, rest, run)),
        ]
        with m.If(wait != 0):
            m.d.sync += [wait.eq(wait - 1), self.ready.eq(wait == 1)]
        with m.If(self.begin):
            m.d.sync += [
                base.eq(self.base),
                self.place.eq(work.first_place),
                self.offset.eq(work.first_offset + self.base),
                wait.eq(3),
                self.ready.eq(0),
            ]
        with m.Elif(self.step):
            m.d.sync += [
                self.place.eq(Mux(self.place == 0, work.last_place, self.place - work.message)),
                self.offset.eq(Mux(self.place == 0, wrap, self.offset - work.block)),
                wait.eq(2),
                self.ready.eq(0),
            ]
        return m
