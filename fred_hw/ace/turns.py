"""Turns of the state machines, in the order that all ends of a ring have."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec

from .work import STEP_BITS, count_bits, sizes_name, work_layout

__all__ = ["AceTurns"]


class AceTurns(Unit):
    """Tell which state machine has its turn: a step of each, then the next step of each.

    As many chunks as there are state machines go through their steps together, then the next ones.
    So messages need not say what they are: who receives knows the order in which they come.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    work : In(work_layout(spec))
        Constant while there are turns.
    begin : In(1)
        Begin; ``work`` is set in the next cycle.
    turn : Out(fsms)
        One bit, or none while it is not known and before and behind all.
    base : Out(count)
        First flit, in each block, of the chunk whose turn it is if this is its first step.
    first : Out(1)
        Whether it is.
    advance : In(1)
        Go on; only while ``turn`` has a bit.
    active : Out(1)
        High from ``begin`` until all turns are over.

    Timing
    ------
    Latency : 4 cycles from ``begin`` to ``turn``, 4 from ``advance`` to the next turn.
    Throughput : a turn per 4 cycles.
    Paths : none.
    Reset : no turn is left.
    """

    work: data.View
    begin: Signal
    turn: Signal
    base: Signal
    first: Signal
    advance: Signal
    active: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceTurns", spec)
        self.unit_name = sizes_name("ace_turns", spec)
        super().__init__(
            {
                "work": In(work_layout(spec)),
                "begin": In(1),
                "turn": Out(spec.endpoint.fsms),
                "base": Out(count_bits(spec)),
                "first": Out(1),
                "advance": In(1),
                "active": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        work, fsms = self.work, self.spec.endpoint.fsms
        now, end = Signal(fsms, init=1, name="now"), Signal(fsms)
        step = Signal(STEP_BITS)
        behind = Signal(len(self.base) + 1)
        last_chunk, last_step, ends = Signal(), Signal(), Signal()
        wait = Signal(2)
        m.d.sync += [
            behind.eq(self.base + work.message),
            last_chunk.eq(behind >= work.block),
            last_step.eq(step + 1 == work.steps),
            self.turn.eq(now & (self.active & (wait == 1)).replicate(fsms)),
        ]
        m.d.comb += [
            self.first.eq(step == 0),
            ends.eq(
                Mux(self.first, last_chunk | (now == work.last_fsm), now == end),
            ),
        ]
        with m.If(wait > 1):
            m.d.sync += wait.eq(wait - 1)
        with m.If(self.begin):
            m.d.sync += [self.active.eq(1), self.base.eq(0), step.eq(0), now.eq(1), wait.eq(3)]
        with m.Elif(self.advance):
            m.d.sync += [wait.eq(3), self.turn.eq(0)]
            with m.If(self.first):
                m.d.sync += end.eq(now)
            with m.If(ends):
                m.d.sync += [now.eq(1), step.eq(Mux(last_step, 0, step + 1))]
                m.d.sync += self.active.eq(~(last_step & last_chunk))
            with m.Else():
                m.d.sync += now.eq(now << 1)
            with m.If(Mux(ends, last_step, self.first)):
                m.d.sync += self.base.eq(behind)
        return m
