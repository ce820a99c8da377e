"""Choice of the source whose unicast a destination accepts next."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int, check_kind
from fred_hw.gates.select import above, any_of, chosen_by_pairs, gated
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.per_class import buffer_number, channels_of, per_buffer
from fred_hw.unit import Unit
from fred_hw.virtual_channels import CLASS_BITS, DEFAULT_CHANNELS, VirtualChannels

__all__ = ["DestinationChoice"]


class DestinationChoice(Unit):
    """Choose one of the sources that request a destination.

    The most urgent class with a request goes first. Sources with the same class are served
    round-robin, starting after the one whose packet started last.

    Parameters
    ----------
    sources : int
        Sources, 1 or more.
    channels : VirtualChannels, optional
        Virtual channels of the links. Sources and the destination have a buffer
        for each, B in all.

    Timing
    ------
    Latency : none from a request to ``chosen``; 1 cycle from ``begins`` to ``circuit_to``.
    Throughput : a choice per cycle.
    Paths : ``picks`` and ``coming`` to ``chosen``.
    Reset : arbitration starts at source 0.

    Raises
    ------
    TypeError, ValueError
        The parameter is not an integer, or below 1.
    """

    picks: list[Signal] = member(In, lambda u: u.sources, array=per_buffer)
    """For each buffer the sources that may send a packet of it next."""
    coming: list[Signal] = member(In, lambda u: u.sources, array=per_buffer)
    """For each buffer the sources whose packet in it has this destination. A source in both
    ``picks`` and ``coming`` requests the destination."""
    onto: list[Signal] = member(
        In, lambda u: u.sources, array=lambda u: u.channels.each, when=lambda u: u.channels.each > 1
    )
    """With several ``channels``: the sources whose packets of a channel go on by channel 1."""
    path = member(In, lambda u: u.sources)
    """The source that has a path to this destination, one-hot or 0."""
    starts = member(In, lambda u: u.sources)
    """The sources that start a packet in this cycle."""
    begins = member(In, 1)
    """The chosen source gets a path."""
    chosen = member(Out, lambda u: u.sources)
    """The chosen source, one-hot, or 0 without a request."""
    circuit_to = member(Out, buffer_number)
    """Buffer behind the destination for whose packet the current path is."""

    def __init__(self, *, sources: int, channels: VirtualChannels = DEFAULT_CHANNELS) -> None:
        self.sources = check_int("DestinationChoice sources", sources, minimum=1)
        self.channels = check_kind("DestinationChoice channels", channels, VirtualChannels)
        self.unit_name = f"destination_choice_p{sources}{channels.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        requests = [pick & coming for pick, coming in zip(self.picks, self.coming, strict=True)]
        asks = [
            wire(m, f"asks_{name}", any_of(requests[k] for k in self.channels.buffers_of(c)))
            for c, name in enumerate(channels_of(self).names)
        ]
        number: Value | int = len(asks) - 1
        for c in reversed(range(len(asks) - 1)):
            number = Mux(asks[c].any(), c, number)
        circuit = Signal(CLASS_BITS)
        began = Signal()
        m.d.comb += [
            circuit.eq(number),
            began.eq((self.path & self.starts).any()),
        ]
        more = self.channels.channel_bits
        with m.If(self.begins):
            m.d.sync += self.circuit_to.eq(Cat(self._channel(m, requests), circuit))
        # The source with the path is known earlier than whether it starts.
        behind = wire(m, "behind_path", above(m, "path", self.path))
        last = [Signal(self.sources, name=f"behind_{name}") for name in channels_of(self).names]
        for c, own in enumerate(last):
            with m.If(began & (self.circuit_to[more:] == c)):
                m.d.sync += own.eq(behind)
        # Arbitrate all virtual channels in parallel, and take the result of the most urgent one.
        grants = [
            chosen_by_pairs(m, name, asks[c], last[c])
            for c, name in enumerate(channels_of(self).names)
        ]
        m.d.comb += self.chosen.eq(
            any_of(gated(grant, circuit == c) for c, grant in enumerate(grants))
        )

    def _channel(self, m: Module, requests: Sequence[Value]) -> Value:
        """Return the channel by which the packet of the chosen source goes on."""
        if self.channels.each == 1:
            return Const(0, 0)
        each = self.channels.each
        onto = [any_of(requests[k::each]) & self.onto[k] for k in range(each)]
        return wire(m, "channel", (self.chosen & any_of(onto)).any())
