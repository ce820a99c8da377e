"""X-Y routing: along the row to the destination's column, then along the column."""

from typing import TYPE_CHECKING

from fred_hw.mesh.routing import ROUTINGS, Fork, Routing, WiredFork

if TYPE_CHECKING:
    from amaranth.hdl import Module, Value

__all__ = ["Xy"]


class Xy(Routing):
    """Row first; no turns from a column to a row."""

    def port(self, fork: Fork) -> str:
        return fork.across

    def between(self, m: "Module", fork: WiredFork) -> "Value":
        return fork.across


ROUTINGS.add("xy", Xy(), rank=0)
