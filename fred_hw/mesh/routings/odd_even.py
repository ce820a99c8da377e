"""Odd-even routing; if two outputs remain, both addresses decide.

Chiu, "The odd-even turn model for adaptive routing", IEEE Transactions on Parallel and Distributed
Systems 11, 2000, Figure 2; columns are counted from 0.
"""

from typing import TYPE_CHECKING

from fred_hw.mesh.routing import ROUTINGS, Fork, Routing, WiredFork

if TYPE_CHECKING:
    from amaranth.hdl import Module, Value

__all__ = ["OddEven", "allowed", "wired_allowed"]


class OddEven(Routing):
    """Turns from east to north or south only in odd columns, and to west only in even ones.

    Where two ports are left, the parity of both addresses chooses.
    """

    def port(self, fork: Fork) -> str:
        leaves, goes_on = allowed(fork)
        parity = (fork.ends[0] ^ fork.ends[1]).bit_count() % 2 == 1
        return fork.along if leaves and (parity or not goes_on) else fork.across

    def between(self, m: "Module", fork: WiredFork) -> "Value":
        from amaranth.hdl import Mux

        from fred_hw.gates.wire import wire

        leaves, goes_on = wired_allowed(m, fork)
        parity = wire(m, "parity", fork.destination.xor() ^ fork.source.xor())
        return Mux(leaves & (parity | ~goes_on), fork.along, fork.across)


def allowed(fork: Fork) -> tuple[bool, bool]:
    """Return whether a packet may leave its row here, and whether it may continue in it."""
    odd, east = fork.x % 2 == 1, fork.across == "east"
    leaves = odd or fork.x == fork.start_x if east else not odd
    return leaves, not east or fork.end_x % 2 == 1 or fork.end_x != fork.x + 1


def wired_allowed(m: "Module", fork: WiredFork) -> tuple["Value", "Value"]:
    """Return the same as hardware; a packet in its destination's row stays in the row."""
    from amaranth.hdl import Const, Signal

    from fred_hw.gates.select import selected
    from fred_hw.gates.wire import wire

    here, along = fork.here, fork.along
    columns = [Const(column, here.x.shape()) for column in fork.columns]
    start = wire(m, "start", selected(fork.source, columns), width=len(here.x))
    adjacent = wire(m, "adjacent", fork.end.x == here.x + 1)
    turns = Signal()
    goes_on = Signal()
    with m.If(fork.east):
        m.d.comb += [
            turns.eq(here.x[0] | (here.x == start)),
            goes_on.eq(fork.end.x[0] | ~adjacent | ~along.any()),
        ]
    with m.Else():
        m.d.comb += [turns.eq(~here.x[0]), goes_on.eq(1)]
    return wire(m, "leaves_row", turns & along.any()), goes_on


ROUTINGS.add("odd_even", OddEven(), rank=1)
