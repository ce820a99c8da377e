"""Odd-even routing; if two outputs remain, the source's choice decides.

The outputs are those of ``odd_even``; the source chooses by the load that its router reports.
"""

from typing import TYPE_CHECKING

from fred_hw.mesh.routing import ROUTINGS, Fork, Routing, WiredFork

from .odd_even import allowed, wired_allowed

if TYPE_CHECKING:
    from amaranth.hdl import Module, Value

    from fred_hw.spec import SwitchSpec
    from fred_hw.unit import Unit

__all__ = ["OddEvenAdaptive"]


class OddEvenAdaptive(Routing):
    """Free choice among the ports of odd-even: parity selects one, ``alternate`` the other."""

    chooses = True

    def port(self, fork: Fork) -> str:
        leaves, goes_on = allowed(fork)
        parity = (fork.ends[0] ^ fork.ends[1]).bit_count() % 2 == 1
        return fork.along if leaves and (parity != fork.alternate or not goes_on) else fork.across

    def between(self, m: "Module", fork: WiredFork) -> "Value":
        from amaranth.hdl import Mux

        from fred_hw.gates.wire import wire

        leaves, goes_on = wired_allowed(m, fork)
        chosen = wire(m, "chosen", self.named(fork) ^ fork.alternate)
        return Mux(leaves & (chosen | ~goes_on), fork.along, fork.across)

    def forks(self, m: "Module", fork: WiredFork) -> "Value":
        leaves, goes_on = wired_allowed(m, fork)
        return leaves & goes_on

    def choice(self, spec: "SwitchSpec") -> "Unit":
        from fred_hw.mesh.route_choice import RouteChoice

        return RouteChoice(spec=spec)

    def named(self, fork: WiredFork) -> "Value":
        return fork.destination.xor() ^ fork.source.xor()


ROUTINGS.add("odd_even_adaptive", OddEvenAdaptive(), rank=2)
