"""Routing in a torus: row first, the shorter way around, on two channels that meet at a dateline.

Dally and Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE
Transactions on Computers C-36, 1987.
"""

from typing import TYPE_CHECKING

from fred_hw.mesh.routing import ROUTINGS

from .xy import Xy

if TYPE_CHECKING:
    from amaranth.hdl import Module, Value

__all__ = ["Dateline"]


class Dateline(Xy):
    """Row first, then column, each the shorter way around; east or south if both are as long.

    A packet enters a row or a column on channel 0, and is on channel 1 from the link that leads
    from one edge to the other. No channel forms a ring: channel 0 lacks that link, and packets
    use channel 1 for half of the ring at most.
    """

    wraps = True
    channels = 2

    def step(self, here: int, end: int, size: int) -> int:
        ahead = (end - here) % size
        return 0 if not ahead else 1 if 2 * ahead <= size else -1

    def toward(
        self, m: "Module", here: "Value", end: "Value", size: int
    ) -> tuple["Value", "Value"]:
        half = size // 2
        # Without a division: the distance ahead is end - here, or that and the size.
        up = ((end > here) & (end <= here + half)) | (end + (size - half) <= here)
        return up, (end != here) & ~up

    def channel(self, channel: int, *, straight: bool, wraps: bool) -> int:
        return int(wraps or (straight and channel == 1))


ROUTINGS.add("dateline", Dateline(), rank=3)
