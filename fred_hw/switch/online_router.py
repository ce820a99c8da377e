"""Unicast traffic: assignment of paths through the interconnect."""

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib.wiring import Out

from fred_hw.checks import check_int
from fred_hw.compiler.shape import configuration_width
from fred_hw.gates.select import gated
from fred_hw.gates.wire import wire
from fred_hw.unit import place

from .matching import Matching, matching_members
from .path_claims import PathClaims
from .unicast_router import UnicastRouter

__all__ = ["OnlineRouter"]


class OnlineRouter(Matching):
    """Match sources of unicasts and destinations, all at a time, and find their paths.

    A source asks for the destination of its most urgent packet whose destination is free and has
    space; a destination takes the most urgent of those that ask it, sources of one circuit round
    robin. Both may have a packet under way that ends in this cycle, so that packet follows packet
    without a gap. A path stays until its source or its destination is wanted for another, with
    space or without. A packet
    whose destination was not free when its source was lets ``PASSES`` packets of less urgent
    circuits go ahead; then its source waits for it. With two middle subswitches see ``PathClaims``.

    Parameters
    ----------
    ports, middle_switches : int
        Ports P and middle subswitches m of the interconnect, each 2 or more.

    Members
    -------
    coming : In(ArrayLayout(P, 3)).array(P)
        For each source and circuit the destination of the next unicast, as the only bit that is
        high, or 0.
    space : In(3).array(P)
        For each destination the circuits that have space for a packet.
    starts : In(P)
        Sources that start a packet on their path.
    holds, closing : In(P), In(P)
        Sources whose packet goes on behind this cycle, so that their path must stay; those of them
        whose packet ends with its next flit, which may be there in the next cycle.
    destination_of, circuit_of : Out(P).array(P), Out(2).array(P)
        Per source, to where it has a path, as the only bit that is high, or 0; circuit of the
        packet that it is for.
    circuit_to : Out(2).array(P)
        Per destination the circuit of the packet that it has a path for.
    configuration : Out(configuration_width(P, m))
        State of every micro-switch.

    Timing
    ------
    Latency : 1 cycle from a packet that comes to its path.
    Throughput : all paths in one cycle.
    Paths : none.
    Reset : ends all paths.

    Raises
    ------
    TypeError, ValueError
        A parameter is none of these.
    """

    configuration: Signal

    def __init__(self, *, ports: int, middle_switches: int) -> None:
        self.port_count = check_int("OnlineRouter ports", ports, minimum=2)
        self.middle_switches = check_int("OnlineRouter middle", middle_switches, minimum=2)
        self.unit_name = f"online_router_m{middle_switches}_p{ports}"
        super().__init__(
            {
                **matching_members(ports),
                "configuration": Out(configuration_width(ports, middle_switches)),
            }
        )

    def build(self, m: Module) -> None:
        router = place(
            m, "paths", UnicastRouter(ports=self.port_count, middle_switches=self.middle_switches)
        )
        m.d.comb += self.configuration.eq(router.configuration)
        for path, own in zip(router.destination_of, self.destination_of, strict=True):
            m.d.comb += path.eq(own)
        # Paths through two subswitches are in the way of others.
        self.match(m, in_the_way=self.middle_switches == 2)

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
