"""Matching of unicast sources and destinations."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import any_of, gated, once_and_twice
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.per_class import buffer_number, per_buffer
from fred_hw.unit import Unit, place
from fred_hw.virtual_channels import VirtualChannels

from .destination_choice import DestinationChoice
from .source_request import SourceRequest

__all__ = ["Matching", "SwitchMatching"]


class Matching(Unit):
    """Match sources and destinations of unicasts; base of switch and router matching.

    Attributes
    ----------
    port_count : int
        Number of sources, and of destinations.
    channels : VirtualChannels
        Virtual channels of the links.
    """

    coming: list[data.View] = member(
        In,
        lambda u: data.ArrayLayout(u.port_count, per_buffer(u)),
        array=lambda u: u.port_count,
    )
    """Destination of the next packet of each source and buffer, one-hot or 0."""
    space: list[Signal] = member(In, per_buffer, array=lambda u: u.port_count)
    """Buffers behind each destination that have space for a packet."""
    onto: list[data.View] = member(
        In,
        lambda u: data.ArrayLayout(u.port_count, u.channels.each),
        array=lambda u: u.port_count,
        when=lambda u: u.channels.each > 1,
    )
    """With two ``channels``, for each source and its channel: the destinations by which packets go
    on by channel 1. The same in all cycles."""
    starts = member(In, lambda u: u.port_count)
    """Sources that start a packet on their path."""
    holds = member(In, lambda u: u.port_count)
    """Sources whose packet continues after this cycle, so that their path must stay."""
    closing = member(In, lambda u: u.port_count)
    """Sources of ``holds`` whose packet ends with its next flit, which may arrive in the next
    cycle."""
    destination_of: list[Signal] = member(Out, lambda u: u.port_count, array=lambda u: u.port_count)
    """Destination to which each source has a path, one-hot or 0."""
    circuit_of: list[Signal] = member(Out, buffer_number, array=lambda u: u.port_count)
    """Buffer of the packet for which each source has a path."""
    circuit_to: list[Signal] = member(Out, buffer_number, array=lambda u: u.port_count)
    """Buffer of the packet for which each destination has a path."""
    port_count: int
    channels: VirtualChannels

    def match(self, m: Module, *, blocking: bool = False) -> None:
        """Match all sources and destinations in each cycle.

        Parameters
        ----------
        m : Module
            Module of the unit.
        blocking : bool
            Whether any path may block any other.
        """
        requests = self._ask(m)
        choices = self._answer(m, requests)
        granted, given, taken = self._grant(m, choices)
        shared_by = self._shared(m)
        for k, path in enumerate(self.destination_of):
            others = granted.any() if blocking else 0
            # A source that kept a path others want would precede them whenever space frees up.
            used = Signal(name=f"used_{k}")
            with m.If(granted[k]):
                m.d.sync += used.eq(0)
            with m.Elif(self.starts[k]):
                m.d.sync += used.eq(1)
            shared = wire(m, f"shared_{k}", used & (path & shared_by[k]).any())
            leaves = wire(m, f"leaves_{k}", others | requests[k].late | shared)
            # Each path is one-hot, and the source that takes a destination is known for each.
            ends = wire(m, f"ends_{k}", Mux(granted[k] | leaves, ~Const(0, self.port_count), taken))
            m.d.sync += path.eq(given[k] | Mux(self.holds[k], path, path & ~ends))
            with m.If(granted[k]):
                pick = requests[k].pick
                number: Value = Const(len(pick) - 1, range(len(pick)))
                for buffer in reversed(range(len(pick) - 1)):
                    number = Mux(pick[buffer], buffer, number)
                m.d.sync += self.circuit_of[k].eq(number)

    def _shared(self, m: Module) -> list[Value]:
        """Return, for each source, the destinations wanted by other sources, a cycle delayed."""
        wanted = [Signal(self.port_count, name=f"wanted_{k}") for k in range(self.port_count)]
        for own, coming in zip(wanted, self.coming, strict=True):
            m.d.sync += own.eq(any_of(coming[c] for c in range(per_buffer(self))))
        once, twice = once_and_twice(m, "wanted", wanted)
        return [twice | (once & ~own) for own in wanted]

    def _ask(self, m: Module) -> list[SourceRequest]:
        """Return, for each source, the buffer of its next path."""
        size = self.port_count
        # A path that stays is the same in the next cycle, so destinations in use are known early.
        stays = Signal(size)
        busy = Signal(size)
        ending = Signal(size)
        goes_on = self.holds & ~self.closing
        m.d.sync += [
            stays.eq(goes_on),
            busy.eq(self._ends(goes_on)),
            # Where a packet ends, buffer space may free up soon: the next source gets the path
            # beforehand.
            ending.eq(self._ends(self.holds & self.closing)),
        ]
        names = self.channels.buffers
        spaces = [
            wire(m, f"space_{name}", Cat(space[c] for space in self.space) | ending)
            for c, name in enumerate(names)
        ]
        vacant = [
            wire(m, f"vacant_{name}", space & ~busy)
            for name, space in zip(names, spaces, strict=True)
        ]
        requests: list[SourceRequest] = []
        for k, coming in enumerate(self.coming):
            request = place(
                m, f"from_{k}", SourceRequest(destinations=size, channels=self.channels)
            )
            requests.append(request)
            m.d.comb += [
                request.stays.eq(stays[k]),
                request.starts.eq(self.starts[k]),
                request.circuit_of.eq(self.circuit_of[k]),
            ]
            for c in range(per_buffer(self)):
                m.d.comb += [
                    request.coming[c].eq(coming[c]),
                    request.spaces[c].eq(self._behind(k, c, spaces)),
                    request.vacant[c].eq(self._behind(k, c, vacant)),
                ]
        return requests

    def _behind(self, source: int, buffer: int, destinations: Sequence[Value]) -> Value:
        """Return the destinations of a source's buffer, given those of each buffer behind them."""
        if self.channels.each == 1:
            return destinations[buffer]
        channel, onto = buffer % 2, self.onto[source]
        low, high = destinations[buffer - channel], destinations[buffer - channel + 1]
        return (high & onto[channel]) | (low & ~onto[channel])

    def _ends(self, sources: Value) -> Value:
        """Return the destinations on the paths of the given sources."""
        return any_of(gated(path, sources[k]) for k, path in enumerate(self.destination_of))

    def _answer(self, m: Module, requests: Sequence[SourceRequest]) -> list[DestinationChoice]:
        """Return, for each destination, the source it accepts if neither is held."""
        buffers = range(per_buffer(self))
        of_buffers = [Cat(request.pick[c] for request in requests) for c in buffers]
        choices: list[DestinationChoice] = []
        for j in range(self.port_count):
            choice = place(
                m, f"to_{j}", DestinationChoice(sources=self.port_count, channels=self.channels)
            )
            choices.append(choice)
            m.d.comb += [
                choice.path.eq(Cat(path[j] for path in self.destination_of)),
                choice.starts.eq(self.starts),
                self.circuit_to[j].eq(choice.circuit_to),
            ]
            for c, of_buffer in enumerate(of_buffers):
                m.d.comb += [
                    choice.picks[c].eq(of_buffer),
                    choice.coming[c].eq(Cat(coming[c][j] for coming in self.coming)),
                ]
            for n in range(self.channels.each) if self.channels.each > 1 else ():
                m.d.comb += choice.onto[n].eq(Cat(onto[n][j] for onto in self.onto))
        return choices

    def _grant(
        self, m: Module, choices: Sequence[DestinationChoice]
    ) -> tuple[Value, list[Value], Value]:
        """Return the sources that get a path, their paths, and the taken destinations.

        The held paths settle late, so the match is computed without them. A held destination
        belongs to its holder only, whether it is requested or not.
        """
        matched = [
            wire(m, f"matched_{k}", Cat(choice.chosen[k] for choice in choices))
            for k in range(self.port_count)
        ]
        goes, held = self.admit(m, matched)
        asked = [wire(m, f"asked_{k}", gated(own, goes[k])) for k, own in enumerate(matched)]
        given = [wire(m, f"given_{k}", own & ~held) for k, own in enumerate(asked)]
        granted = wire(m, "granted", Cat(own.any() for own in given))
        taken = wire(m, "taken", any_of(asked))
        begins = wire(m, "begins", taken & ~held)
        m.d.comb += [choice.begins.eq(begins[j]) for j, choice in enumerate(choices)]
        return granted, given, taken

    def admit(self, m: Module, matched: Sequence[Signal]) -> tuple[Value, Value]:
        """Return the sources that may get a path, and the destinations that are excluded.

        Parameters
        ----------
        m : Module
            Module of the unit.
        matched : sequence of Signal
            For each source the destination that it gets if neither is held.
        """
        return ~self.holds, wire(m, "held", self._ends(self.holds))


class SwitchMatching(Matching):
    """Base of the matchings of switches, which also configure the paths.

    Attributes
    ----------
    configuration : Signal
        Output: configuration word of the network for the paths.
    """

    configuration: Signal
