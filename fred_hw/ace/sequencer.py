"""Order in which state machines send, the same at all members of a ring."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.member import member
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

    Timing
    ------
    Latency : 4 cycles from ``begins`` to ``machine``, 4 from ``advance`` to the next message; of
        the first part of a chunk 5 if ``ahead`` is high.
    Throughput : a message per 4 cycles.
    Paths : none.
    Reset : no message is left.
    """

    work: data.View = member(In, lambda u: work_layout(u.spec))
    """Constant from ``begins`` on until all messages are advanced over."""
    steps = member(In, STEP_BITS)
    """Steps of each chunk, 1 or more; constant like ``work``."""
    last_fsm = member(In, lambda u: u.spec.endpoint.fsms)
    """The last state machine in use, one bit; constant like ``work``."""
    ahead = member(In, 1)
    """The first step has the second part, and so on; constant."""
    begins = member(In, 1)
    """Start with the first message."""
    machine = member(Out, lambda u: u.spec.endpoint.fsms)
    """State machine of the next message, one-hot; 0 before the first message, after the last one,
    and while the next one is computed."""
    place = member(Out, lambda u: place_bits(u.spec))
    """Place of the message's part in the slot."""
    offset = member(Out, lambda u: count_bits(u.spec) + 1)
    """Place of the message's part in the buffer."""
    size = member(Out, lambda u: size_bits(u.spec))
    """Flits of the message's part, which may be 0."""
    step = member(Out, STEP_BITS)
    """Number of the step."""
    first = member(Out, 1)
    """Whether the step is the first of the chunk."""
    last = member(Out, 1)
    """Whether the step is the last of the chunk."""
    advance = member(In, 1)
    """Go on to the next message; only while ``machine`` has a bit."""
    active = member(Out, 1)
    """High from ``begins`` until the last message is advanced over."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceSequencer", spec)
        self.unit_name = sizes_name("ace_sequencer", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        work, machines, count = self.work, self.spec.endpoint.fsms, len(self.offset) - 1
        now = Signal(machines, init=1, name="now")
        pause = Signal(3)
        # First flits in each block: of the first chunk of the round, of the current chunk, of the
        # next one; and where the part begins of a chunk that begins with its block.
        batch, base, behind, part = (
            Signal(count + (name == "part"), name=name)
            for name in ("batch", "base", "behind", "part")
        )
        left = Signal(count)
        rest = Signal(count)
        run = Signal.like(self.size)
        short = Signal()
        last_chunk = Signal()
        ends = Signal()
        skip = Signal()
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
        lower = Signal()
        anew = Signal()
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
