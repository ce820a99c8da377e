"""Order in which state machines send, the same at all members of a ring."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .work import STEP_BITS, count_bits, place_bits, size_bits, sizes_name, work_layout

__all__ = ["AceSequencer"]


class AceSequencer(Unit):
    """Determine the state machine and part of the next message, step by step.

    As many chunks as there are state machines go through their steps together, then the next ones.
    So messages need no identification: the receiver knows the order in which they come. All
    machines are at the same step, so this unit finds the parts of all of them. Parts go downwards
    from the first one, and the last part follows the lowest.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    work : In(work_layout(spec))
        Constant from ``begins`` on until all messages are advanced over.
    steps, last_fsm : In(7), In(fsms)
        Steps of each chunk, 1 or more, and the last machine in use, a bit; constant like ``work``.
    ahead : In(1)
        The first step has the second part, and so on; constant.
    begins : In(1)
        Start with the first message.
    machine : Out(fsms)
        State machine of the next message, one-hot; 0 before the first message, after the last one,
        and while the next one is computed.
    place, offset, size : Out(place_bits(spec)), Out(count_bits(spec) + 1), Out(size_bits(spec))
        Its part: place in the slot, in the buffer, and flits, which may be 0.
    step, first, last : Out(7), Out(1), Out(1)
        Number of the step, and whether it is the first and the last of the chunk.
    advance : In(1)
        Go on to the next message; only while ``machine`` has a bit.
    active : Out(1)
        High from ``begins`` until the last message is advanced over.

    Timing
    ------
    Latency : 4 cycles from ``begins`` to ``machine``, 4 from ``advance`` to the next message; of
        the first part of a chunk 5 if ``ahead`` is high.
    Throughput : a message per 4 cycles.
    Paths : none.
    Reset : no message is left.
    """

    work: data.View
    steps: Signal
    last_fsm: Signal
    ahead: Signal
    begins: Signal
    machine: Signal
    place: Signal
    offset: Signal
    size: Signal
    step: Signal
    first: Signal
    last: Signal
    advance: Signal
    active: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceSequencer", spec)
        self.unit_name = sizes_name("ace_sequencer", spec)
        count, machines = count_bits(spec), spec.endpoint.fsms
        members = {
            "work": In(work_layout(spec)),
            "steps": In(STEP_BITS),
            "last_fsm": In(machines),
            "ahead": In(1),
            "begins": In(1),
            "machine": Out(machines),
            "place": Out(place_bits(spec)),
            "offset": Out(count + 1),
            "size": Out(size_bits(spec)),
            "step": Out(STEP_BITS),
            "first": Out(1),
            "last": Out(1),
            "advance": In(1),
            "active": Out(1),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        work, machines, count = self.work, self.spec.endpoint.fsms, len(self.offset) - 1
        now, pause = Signal(machines, init=1, name="now"), Signal(3)
        # First flits in each block: of the first chunk of the round, of the current chunk, of the
        # next one; and where the part begins of a chunk that begins with its block.
        batch, base, behind, part = (
            Signal(count + (name == "part"), name=name)
            for name in ("batch", "base", "behind", "part")
        )
        left, rest = Signal(count), Signal(count)
        run = Signal.like(self.size)
        short, last_chunk, ends, skip = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [self.first.eq(self.step == 0), short.eq(left <= work.message)]
        m.d.sync += [
            behind.eq(base + work.message),
            left.eq(work.block - base),
            self.offset.eq(part + base),
            self.last.eq(self.step + 1 == self.steps),
            run.eq(Mux(short, left, work.message)),
            rest.eq(Mux(self.offset < work.total, work.total - self.offset, 0)),
            last_chunk.eq(short),
            ends.eq(short | (now == self.last_fsm)),
            self.size.eq(Mux(rest < run, rest, run)),
            self.machine.eq(now & (self.active & (pause == 1)).replicate(machines)),
            skip.eq(0),
        ]
        lower, anew = Signal(), Signal()
        with m.If(pause > 1):
            m.d.sync += pause.eq(pause - 1)
        with m.If(self.begins):
            m.d.sync += [self.active.eq(1), base.eq(0), batch.eq(0), self.step.eq(0), now.eq(1)]
            m.d.comb += anew.eq(1)
        with m.Elif(self.advance):
            m.d.sync += [pause.eq(3), self.machine.eq(0), base.eq(behind), now.eq(now << 1)]
            with m.If(ends):
                m.d.sync += [base.eq(batch), now.eq(1), self.step.eq(self.step + 1)]
                m.d.comb += lower.eq(1)
                with m.If(self.last):
                    m.d.sync += [base.eq(behind), batch.eq(behind), self.step.eq(0)]
                    m.d.sync += self.active.eq(~last_chunk)
                    m.d.comb += anew.eq(1)
        with m.If(lower | skip):
            m.d.sync += [
                self.place.eq(Mux(self.place == 0, work.last_place, self.place - work.message)),
                part.eq(Mux(self.place == 0, work.last_offset, part - work.block)),
            ]
        with m.If(anew):
            m.d.sync += [
                self.place.eq(work.first_place),
                part.eq(work.first_offset),
                skip.eq(self.ahead),
                pause.eq(Mux(self.ahead, 4, 3)),
            ]
