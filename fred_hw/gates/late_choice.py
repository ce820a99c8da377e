"""Selection between two values by a signal that arrives late in the cycle."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.member import member
from fred_hw.unit import Unit, place

__all__ = ["LateChoice", "choose_late"]


class LateChoice(Unit):
    """Select one of two values by a late signal, in the last gate before they are used.

    Both values are computed beforehand. Synthesis maps modules one by one, so it cannot move the
    selection before their logic.

    Parameters
    ----------
    width : int
        Bits of a value, 1 or more.

    Timing
    ------
    Latency : none.
    Throughput : every cycle.
    Paths : all inputs to ``o``.
    Reset : none.

    Raises
    ------
    TypeError, ValueError
        The parameter has a wrong type, or is out of range.
    """

    clocked = resettable = False

    late = member(In, 1)
    """Selects the value."""
    high = member(In, lambda u: u.width)
    """Value if ``late`` is high."""
    low = member(In, lambda u: u.width)
    """Value if ``late`` is low."""
    o = member(Out, lambda u: u.width)
    """The selected value."""

    def __init__(self, *, width: int) -> None:
        self.width = check_int("LateChoice width", width, minimum=1)
        self.unit_name = f"late_choice_w{width}"
        super().__init__()

    def build(self, m: Module) -> None:
        m.d.comb += self.o.eq(Mux(self.late, self.high, self.low))


def choose_late(m: Module, name: str, late: Value, high: Value, low: Value) -> Signal:
    """Place a :class:`LateChoice` of two values of one width; return the selected value."""
    choice = place(m, name, LateChoice(width=len(high)))
    m.d.comb += [choice.late.eq(late), choice.high.eq(high), choice.low.eq(low)]
    return choice.o
