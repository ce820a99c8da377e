"""Along the row to the column of the end, then along that."""

from typing import TYPE_CHECKING

from fred_hw.mesh.routing import ROUTINGS, Fork, Routing, WiredFork

if TYPE_CHECKING:
    from amaranth.hdl import Module, Value

__all__ = ["Xy"]


class Xy(Routing):
    """Row first: nothing turns from a column into a row."""

    def port(self, fork: Fork) -> str:
        return fork.across

    def between(self, m: "Module", fork: WiredFork) -> "Value":
        return fork.across


ROUTINGS.add("xy", Xy(), rank=0)
