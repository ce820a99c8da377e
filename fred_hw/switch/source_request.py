"""Choice of the virtual circuit of which a source requests its next path."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.select import any_of
from fred_hw.gates.wire import wire
from fred_hw.protocol import DATA_COUNT, PASSES
from fred_hw.unit import Unit

__all__ = ["SourceRequest"]


class SourceRequest(Unit):
    """Choose the virtual channel for which a source requests its next path.

    The most urgent circuit whose destination is vacant goes first. A packet that ``PASSES`` packets
    of less urgent circuits have passed, although there was space for it, waits for its destination,
    and no less urgent circuit requests a path meanwhile.

    Parameters
    ----------
    destinations : int
        Destinations, 1 or more.

    Members
    -------
    coming : In(destinations).array(3)
        For each circuit the destination of the source's next packet of it, as the only bit that is
        high, or 0.
    spaces, vacant : In(destinations).array(3), In(destinations).array(3)
        For each circuit the destinations with space for a packet, and those of them with no path
        that stays.
    stays : In(1)
        The path of the source stays, so that it requests none.
    starts, circuit_of : In(1), In(2)
        The source starts a packet in this cycle; the circuit of its path.
    pick : Out(3)
        The circuit of the request, as the only bit that is high, or 0.
    late : Out(1)
        A packet that is more urgent than the circuit of the path waits for its destination.

    Timing
    ------
    Latency : none to ``pick`` and ``late``; 1 cycle from ``starts`` to both.
    Throughput : a request per cycle.
    Paths : ``coming``, ``vacant``, ``spaces`` and ``stays`` to ``pick``; ``coming``, ``spaces`` and
        ``circuit_of`` to ``late``.
    Reset : no packet has been passed.

    Raises
    ------
    TypeError, ValueError
        The parameter is not an integer, or below 1.
    """

    coming: list[Signal]
    spaces: list[Signal]
    vacant: list[Signal]
    stays: Signal
    starts: Signal
    circuit_of: Signal
    pick: Signal
    late: Signal

    def __init__(self, *, destinations: int) -> None:
        self.destinations = check_int("SourceRequest destinations", destinations, minimum=1)
        self.unit_name = f"source_request_p{destinations}"
        of_circuits = ("coming", "spaces", "vacant")
        members = {name: In(destinations).array(DATA_COUNT) for name in of_circuits}
        members |= {
            "stays": In(1),
            "starts": In(1),
            "circuit_of": In(2),
            "pick": Out(DATA_COUNT),
            "late": Out(1),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        may = ~self.stays
        late = []
        for c, (coming, spaces, vacant) in enumerate(
            zip(self.coming, self.spaces, self.vacant, strict=True)
        ):
            free = wire(m, f"free_{c}", (coming & vacant).any())
            m.d.comb += self.pick[c].eq(free & may)
            if c == DATA_COUNT - 1:  # no circuit is less urgent
                break
            reaches = wire(m, f"reaches_{c}", (coming & spaces).any())
            passed = Signal(range(PASSES + 1), name=f"passed_{c}")
            with m.If(self.starts & (self.circuit_of == c)):
                m.d.sync += passed.eq(0)
            with m.Elif(self.starts & (self.circuit_of > c) & reaches & (passed != PASSES)):
                m.d.sync += passed.eq(passed + 1)
            waits = wire(m, f"waits_{c}", reaches & (passed == PASSES))
            may &= ~free & ~waits
            late.append(waits & (self.circuit_of > c))
        m.d.comb += self.late.eq(any_of(late))
