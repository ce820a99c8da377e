"""A shortest way that the odd-even model leaves; of several the one that both addresses name.

Chiu, "The odd-even turn model for adaptive routing", IEEE Transactions on Parallel and Distributed
Systems 11, 2000, Figure 2; columns are counted from 0.
"""

from typing import TYPE_CHECKING

from fred_hw.mesh.routing import ROUTINGS, Fork, Routing

if TYPE_CHECKING:
    from amaranth.hdl import Module, Value
    from amaranth.lib import data

    from fred_hw.mesh.way import Way

__all__ = ["OddEven"]


class OddEven(Routing):
    """Turns from east to north or south in odd columns alone, from those to west in even ones.

    Where two ports are left, the parity of both addresses chooses.
    """

    def port(self, fork: Fork) -> str:
        odd, east = fork.x % 2 == 1, fork.across == "east"
        if not (odd or fork.x == fork.start_x if east else not odd):
            return fork.across
        goes_on = not east or fork.end_x % 2 == 1 or fork.end_x != fork.x + 1
        parity = (fork.ends[0] ^ fork.ends[1]).bit_count() % 2 == 1
        return fork.along if parity or not goes_on else fork.across

    def between(
        self, m: "Module", way: "Way", end: "data.View", across: "Value", along: "Value"
    ) -> "Value":
        from amaranth.hdl import Const, Mux, Signal

        from fred_hw.gates.select import selected
        from fred_hw.gates.wire import wire
        from fred_hw.mesh.spec import DIRECTIONS

        here = way.here
        columns = [Const(place.x, here.x.shape()) for place in way.mesh.places]
        start = wire(m, "start", selected(way.source, columns), width=len(here.x))
        east = across[DIRECTIONS.index("east")]
        beside = wire(m, "beside", end.x == here.x + 1)
        turns, goes_on = Signal(), Signal()
        with m.If(east):
            m.d.comb += [
                turns.eq(here.x[0] | (here.x == start)),
                goes_on.eq(end.x[0] | ~beside | ~along.any()),
            ]
        with m.Else():
            m.d.comb += [turns.eq(~here.x[0]), goes_on.eq(1)]
        leaves = wire(m, "leaves_row", turns & along.any())
        parity = wire(m, "parity", way.destination.xor() ^ way.source.xor())
        return Mux(leaves & (parity | ~goes_on), along, across)


ROUTINGS.add("odd_even", OddEven(), rank=1)
