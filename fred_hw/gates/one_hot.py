"""One-hot multiplexer."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.member import member
from fred_hw.unit import Unit

from .select import one_hot_mux

__all__ = ["OneHotMux"]


class OneHotMux(Unit):
    """Output the value whose bit of ``choice`` is high.

    Parameters
    ----------
    count, width : int
        Values, and bits of each, 1 or more.

    Timing
    ------
    Latency : none.
    Throughput : every cycle.
    Paths : all inputs to ``o``.
    Reset : none.

    Raises
    ------
    TypeError, ValueError
        A parameter is not an integer, or below 1.
    """

    clocked = resettable = False

    choice = member(In, lambda u: u.count)
    """The value to output, as the only bit that is high, or 0."""
    values: list[Signal] = member(In, lambda u: u.width, array=lambda u: u.count)
    """Values."""
    o = member(Out, lambda u: u.width)
    """The chosen value, or 0 without a choice."""

    def __init__(self, *, count: int, width: int) -> None:
        self.count = check_int("OneHotMux count", count, minimum=1)
        self.width = check_int("OneHotMux width", width, minimum=1)
        self.unit_name = f"one_hot_mux_n{count}_w{width}"
        super().__init__()

    def build(self, m: Module) -> None:
        m.d.comb += self.o.eq(one_hot_mux(self.choice, self.values))
