"""Whether packets are of what is served, or of what follows."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.unit import Unit

__all__ = ["PhaseMatch"]


class PhaseMatch(Unit):
    """Compare the phases of two packets, either of which may be the head next, with two others.

    It is a unit, so that synthesis cannot choose first and compare then: what chooses is late.

    Parameters
    ----------
    bits : int
        Of a phase, 1 or more.

    Members
    -------
    own, then : In(bits), In(bits)
        Phases of the packet at the head, and of the one that may come behind it.
    served, following : In(bits), In(bits)
        What is served, and what follows.
    own_served, own_following, then_served, then_following : Out(1)
        Whether the first is the second.

    Timing
    ------
    Latency : none.
    Throughput : every cycle.
    Paths : all inputs to the outputs that name them.
    Reset : none.

    Raises
    ------
    TypeError, ValueError
        The parameter is none of these.
    """

    clocked = resettable = False

    own: Signal
    then: Signal
    served: Signal
    following: Signal
    own_served: Signal
    own_following: Signal
    then_served: Signal
    then_following: Signal

    def __init__(self, *, bits: int) -> None:
        bits = check_int("PhaseMatch bits", bits, minimum=1)
        self.unit_name = f"phase_match_w{bits}"
        outputs = ("own_served", "own_following", "then_served", "then_following")
        super().__init__(
            {
                **dict.fromkeys(("own", "then", "served", "following"), In(bits)),
                **dict.fromkeys(outputs, Out(1)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.own_served.eq(self.own == self.served),
            self.own_following.eq(self.own == self.following),
            self.then_served.eq(self.then == self.served),
            self.then_following.eq(self.then == self.following),
        ]
        return m
