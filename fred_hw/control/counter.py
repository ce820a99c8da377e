"""Saturating event counter."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.select import sum_of
from fred_hw.member import member
from fred_hw.unit import Unit

__all__ = ["SaturatingCounter"]


class SaturatingCounter(Unit):
    """Count all events of several sources in each cycle, up to the largest value.

    Parameters
    ----------
    sources : int
        Sources, 1 or more.
    width : int
        Bits of the count, enough for an event of each source.

    Timing
    ------
    Latency : 2 cycles from an event to ``count``, 1 from ``clear``.
    Throughput : an event of each source per cycle.
    Paths : none.
    Reset : clears the count.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    events = member(In, lambda u: u.sources)
    """High for a cycle for each event."""
    clear = member(In, 1)
    """Forget the events of earlier cycles; those of the same cycle count."""
    count = member(Out, lambda u: u.width)
    """Events, or the largest value for more."""

    def __init__(self, *, sources: int, width: int) -> None:
        self.sources = check_int("SaturatingCounter sources", sources, minimum=1)
        fewest = sources.bit_length()
        self.width = check_int("SaturatingCounter width", width, minimum=fewest)
        self.unit_name = f"saturating_counter_n{sources}_w{width}"
        super().__init__()

    def build(self, m: Module) -> None:
        came = Signal(range(self.sources + 1))
        total = Signal(self.width + 1)
        m.d.comb += total.eq(self.count + came)
        m.d.sync += [
            came.eq(sum_of(self.events)),
            self.count.eq(total[: self.width] | total[self.width].replicate(self.width)),
        ]
        with m.If(self.clear):
            m.d.sync += self.count.eq(0)
