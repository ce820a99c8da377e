"""The lockstep counter of the schedule table."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.member import member
from fred_hw.unit import Unit

from .schedule_entry import CYCLE_BITS, TABLE_STEP_BITS

__all__ = ["AceLockstep"]


class AceLockstep(Unit):
    """Count the steps of a schedule; each step takes at least its estimated time.

    As in MultiTree (Huang et al., ISCA 2021, DOI 10.1109/ISCA52012.2021.00023), a counter is loaded
    with the estimated time of a step when the step begins. The next step begins when the counter
    has reached zero and all entries of the step have been issued. So no messages synchronize the
    endpoints, and an endpoint that was late does not send several steps at once.

    Parameters
    ----------
    None.

    Timing
    ------
    Latency : 1 cycle from ``begins`` to step 0; ``cycles`` from the first cycle of a step to the
        first cycle of the next, if ``issued`` is high.
    Throughput : a step per cycle.
    Paths : none.
    Reset : step 0.
    """

    cycles = member(In, CYCLE_BITS)
    """Estimated time of a step [cycles]; 0 and 1 let a step follow in the next cycle."""
    begins = member(In, 1)
    """Begin with step 0."""
    issued = member(In, 1)
    """All entries of the current step have been issued."""
    step = member(Out, TABLE_STEP_BITS)
    """Number of the current step."""

    def __init__(self) -> None:
        self.unit_name = "ace_lockstep"
        super().__init__()

    def build(self, m: Module) -> None:
        left = Signal(CYCLE_BITS)  # cycles of the step behind this one
        ends = Signal()
        m.d.comb += ends.eq((left <= 1) & self.issued)
        with m.If(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.If(self.begins | ends):
            m.d.sync += [left.eq(self.cycles), self.step.eq(self.step + 1)]
        with m.If(self.begins):
            m.d.sync += self.step.eq(0)
