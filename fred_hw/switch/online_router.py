"""Unicast traffic: assignment of paths through the interconnect."""

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib.wiring import Out

from fred_hw.checks import check_int, check_kind
from fred_hw.compiler.shape import configuration_width
from fred_hw.gates.select import gated
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.unit import place
from fred_hw.virtual_channels import DEFAULT_CHANNELS, VirtualChannels

from .matching import SwitchMatching
from .path_claims import PathClaims
from .unicast_router import UnicastRouter

__all__ = ["OnlineRouter"]


class OnlineRouter(SwitchMatching):
    """Match unicast sources and destinations in each cycle, and find their paths.

    A source requests the destination of its most urgent packet whose destination is free and has
    buffer space; a destination takes the most urgent request, and serves sources with the same
    virtual channel round-robin. Both may be sending a packet that ends in this cycle, so that
    packets follow each other without a gap. A path stays until another packet needs its source or
    its destination, with buffer space or without. A packet whose destination was not free when its
    source was lets ``PASSES`` packets on less urgent channels go ahead; then its source waits for
    it. With two middle subswitches see ``PathClaims``.

    Parameters
    ----------
    ports, middle_switches : int
        Ports P and middle subswitches m of the interconnect, each 2 or more.
    channels : VirtualChannels, optional
        The urgency classes, each with one channel.

    Timing
    ------
    Latency : 1 cycle from a packet that comes to its path.
    Throughput : all paths in one cycle.
    Paths : none.
    Reset : ends all paths.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    configuration = member(Out, lambda u: configuration_width(u.port_count, u.middle_switches))
    """State of every micro-switch."""

    def __init__(
        self,
        *,
        ports: int,
        middle_switches: int,
        channels: VirtualChannels = DEFAULT_CHANNELS,
    ) -> None:
        self.port_count = check_int("OnlineRouter ports", ports, minimum=2)
        self.middle_switches = check_int("OnlineRouter middle_switches", middle_switches, minimum=2)
        self.channels = check_kind("OnlineRouter channels", channels, VirtualChannels)
        self.unit_name = f"online_router_m{middle_switches}_p{ports}{channels.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        router = place(
            m, "paths", UnicastRouter(ports=self.port_count, middle_switches=self.middle_switches)
        )
        m.d.comb += self.configuration.eq(router.configuration)
        for path, own in zip(router.destination_of, self.destination_of, strict=True):
            m.d.comb += path.eq(own)
        # With two subswitches, paths block those of others.
        self.match(m, blocking=self.middle_switches == 2)

    def admit(self, m: Module, matched: Sequence[Signal]) -> tuple[Value, Value]:
        if self.middle_switches != 2:
            return super().admit(m, matched)
        paths = self.destination_of
        held = wire(m, "held", self._ends(self.holds))
        claims = place(m, "claims", PathClaims(ports=self.port_count))
        for k, (match, path) in enumerate(zip(matched, paths, strict=True)):
            free = ~self.holds[k] & ~(match & held).any()
            m.d.comb += [
                claims.wants[k].eq(gated(match, free)),
                claims.holds[k].eq(gated(path, self.holds[k])),
            ]
        return claims.granted, Const(0, self.port_count)
