"""Choice of the buffer for whose packet a source requests its next path."""

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int, check_kind
from fred_hw.gates.select import any_of
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.per_class import buffer_number, per_buffer, per_class
from fred_hw.protocol import PASSES
from fred_hw.unit import Unit
from fred_hw.virtual_channels import DEFAULT_CHANNELS, VirtualChannels

__all__ = ["SourceRequest"]


class SourceRequest(Unit):
    """Choose the buffer for whose packet a source requests its next path.

    The most urgent class whose destination is vacant goes first. A packet that was passed by
    ``PASSES`` packets of less urgent classes, although there was space for it, waits for its
    destination, and no less urgent class requests a path meanwhile. Two virtual channels of a class
    take turns, packet by packet; packets of the other channel do not count. While a packet waits,
    the other channel of its class gets no path, unless a packet of that channel waits too.

    Parameters
    ----------
    destinations : int
        Destinations, 1 or more.
    channels : VirtualChannels, optional
        Virtual channels of the links. The source has a buffer for each, B in all.

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
        A parameter is not an integer, or out of range.
    """

    coming: list[Signal] = member(In, lambda u: u.destinations, array=per_buffer)
    """For each buffer the destination of its next packet, one-hot or 0."""
    spaces: list[Signal] = member(In, lambda u: u.destinations, array=per_buffer)
    """For each buffer the destinations with space for a packet of it."""
    vacant: list[Signal] = member(In, lambda u: u.destinations, array=per_buffer)
    """For each buffer the destinations of ``spaces`` without a path that stays."""
    stays = member(In, 1)
    """The path of the source stays, so that it requests none."""
    starts = member(In, 1)
    """The source starts a packet in this cycle."""
    circuit_of = member(In, buffer_number)
    """The buffer of the source's path."""
    pick = member(Out, per_buffer)
    """The buffer of the request, one-hot or 0."""
    late = member(Out, 1)
    """Packets of the path must not overtake a packet that waits for the same destination. The
    waiting packet is more urgent, or it uses the other channel and no packet waits in the path's.
    """

    def __init__(self, *, destinations: int, channels: VirtualChannels = DEFAULT_CHANNELS) -> None:
        self.destinations = check_int("SourceRequest destinations", destinations, minimum=1)
        self.channels = check_kind("SourceRequest channels", channels, VirtualChannels)
        self.unit_name = f"source_request_p{destinations}{channels.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        may = ~self.stays
        urgency = self.circuit_of[self.channels.channel_bits :]  # class of the path
        late = []
        *urgent, least = range(per_class(self))
        for c in urgent:
            passes = urgency > c
            waits = [Signal(name=f"waits_{name}") for _, name in self._buffers(c)]
            free = self._pick(m, c, may, waits)
            for own, (buffer, name) in zip(waits, self._buffers(c), strict=True):
                m.d.comb += own.eq(self._passed(m, buffer, name, passes))
            may &= ~free & ~any_of(waits)
            late.append(self._late(waits, passes, urgency == c))
        # No class is less urgent than the last one, so its packets are not passed.
        self._pick(m, least, may, [Const(0, 1)] * self.channels.each)
        m.d.comb += self.late.eq(any_of(late) if late else 0)

    def _buffers(self, urgency: int) -> list[tuple[int, str]]:
        """Return the buffers of a class, with the ends of their signals' names."""
        own = self.channels.buffers_of(urgency)
        if len(own) == 1:
            return [(own[0], f"{urgency}")]
        return [(buffer, f"{urgency}_{k}") for k, buffer in enumerate(own)]

    def _passed(self, m: Module, buffer: int, name: str, passes: Value) -> Value:
        """Return whether the next packet of a buffer was passed often enough to wait."""
        reaches = wire(m, f"reaches_{name}", (self.coming[buffer] & self.spaces[buffer]).any())
        passed = Signal(range(PASSES + 1), name=f"passed_{name}")
        with m.If(self.starts & (self.circuit_of == buffer)):
            m.d.sync += passed.eq(0)
        with m.Elif(self.starts & passes & reaches & (passed != PASSES)):
            m.d.sync += passed.eq(passed + 1)
        return reaches & (passed == PASSES)

    def _late(self, waits: Sequence[Value], passes: Value, same: Value) -> Value:
        """Return whether a packet of a class waits that the path's packets must not pass."""
        if self.channels.each == 1:
            return waits[0] & passes
        first, second = waits
        barred = Mux(self.circuit_of[0], first & ~second, second & ~first)
        return ((first | second) & passes) | (same & barred)

    def _pick(self, m: Module, urgency: int, may: Value, waits: Sequence[Value]) -> Signal:
        """Pick a buffer of a class if any ``may``; return whether one has a vacant destination."""
        own = self._buffers(urgency)
        vacant = [(self.coming[k] & self.vacant[k]).any() for k, _ in own]
        able = wire(m, f"free_{urgency}", any_of(vacant))
        if self.channels.each == 1:
            m.d.comb += self.pick[urgency].eq(able & may)
            return able
        last = Signal(name=f"last_{urgency}")
        with m.If(self.starts & (self.circuit_of[1:] == urgency)):
            m.d.sync += last.eq(self.circuit_of[0])
        # A channel that waits bars the other one, unless both wait.
        first, second = (
            wire(m, f"free_{name}", free & (mine | ~other))
            for (_, name), free, mine, other in zip(own, vacant, waits, waits[::-1], strict=True)
        )
        m.d.comb += [
            self.pick[own[0][0]].eq(first & (last | ~second) & may),
            self.pick[own[1][0]].eq(second & (~last | ~first) & may),
        ]
        return able
