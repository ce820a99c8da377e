"""Choice of the buffer for whose packet a source requests its next path."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.select import any_of
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.protocol import DATA_COUNT, PASSES
from fred_hw.unit import Unit

__all__ = ["SourceRequest"]


class SourceRequest(Unit):
    """Choose the buffer for whose packet a source requests its next path.

    The most urgent class whose destination is vacant goes first. A packet that was passed by
    ``PASSES`` packets of less urgent classes, although there was space for it, waits for its
    destination, and no less urgent class requests a path meanwhile. Two virtual channels of a class
    take turns, packet by packet.

    Parameters
    ----------
    destinations : int
        Destinations, 1 or more.
    channels : int, optional
        Virtual channels of each class, 1 or 2. The source has a buffer for each, B in all.

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

    coming: list[Signal] = member(
        In, lambda u: u.destinations, array=lambda u: DATA_COUNT * u.channels
    )
    """For each buffer the destination of its next packet, one-hot or 0."""
    spaces: list[Signal] = member(
        In, lambda u: u.destinations, array=lambda u: DATA_COUNT * u.channels
    )
    """For each buffer the destinations with space for a packet of it."""
    vacant: list[Signal] = member(
        In, lambda u: u.destinations, array=lambda u: DATA_COUNT * u.channels
    )
    """For each buffer the destinations of ``spaces`` without a path that stays."""
    stays = member(In, 1)
    """The path of the source stays, so that it requests none."""
    starts = member(In, 1)
    """The source starts a packet in this cycle."""
    circuit_of = member(In, lambda u: range(DATA_COUNT * u.channels))
    """The buffer of the source's path."""
    pick = member(Out, lambda u: DATA_COUNT * u.channels)
    """The buffer of the request, one-hot or 0."""
    late = member(Out, 1)
    """A packet more urgent than that of the path waits for its destination."""

    def __init__(self, *, destinations: int, channels: int = 1) -> None:
        self.destinations = check_int("SourceRequest destinations", destinations, minimum=1)
        self.channels = check_int("SourceRequest channels", channels, minimum=1, maximum=2)
        self.unit_name = f"source_request_p{destinations}{'' if channels == 1 else f'_v{channels}'}"
        super().__init__()

    def build(self, m: Module) -> None:
        may = ~self.stays
        urgency = self.circuit_of[self.channels.bit_length() - 1 :]  # class of the path
        late = []
        for c in range(DATA_COUNT):
            own = range(c * self.channels, (c + 1) * self.channels)
            free = self._able(m, c, may)
            if c == DATA_COUNT - 1:  # no class is less urgent
                break
            reaches = wire(
                m, f"reaches_{c}", any_of((self.coming[k] & self.spaces[k]).any() for k in own)
            )
            passed = Signal(range(PASSES + 1), name=f"passed_{c}")
            with m.If(self.starts & (urgency == c)):
                m.d.sync += passed.eq(0)
            with m.Elif(self.starts & (urgency > c) & reaches & (passed != PASSES)):
                m.d.sync += passed.eq(passed + 1)
            waits = wire(m, f"waits_{c}", reaches & (passed == PASSES))
            may &= ~free & ~waits
            late.append(waits & (urgency > c))
        m.d.comb += self.late.eq(any_of(late))

    def _able(self, m: Module, urgency: int, may: Value) -> Signal:
        """Pick a buffer of a class if any ``may``; return whether one has a vacant destination."""
        k = urgency * self.channels
        free = [(self.coming[n] & self.vacant[n]).any() for n in range(k, k + self.channels)]
        able = wire(m, f"free_{urgency}", any_of(free))
        if self.channels == 1:
            m.d.comb += self.pick[k].eq(able & may)
            return able
        last = Signal(name=f"last_{urgency}")
        with m.If(self.starts & (self.circuit_of[1:] == urgency)):
            m.d.sync += last.eq(self.circuit_of[0])
        first, second = (wire(m, f"free_{urgency}_{n}", one) for n, one in enumerate(free))
        m.d.comb += [
            self.pick[k].eq(first & (last | ~second) & may),
            self.pick[k + 1].eq(second & (~last | ~first) & may),
        ]
        return able
