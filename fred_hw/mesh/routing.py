"""What a way through a mesh says of itself, and the registry of all of them."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from fred_hw.registry import Registry

if TYPE_CHECKING:
    from amaranth.hdl import Module, Value
    from amaranth.lib import data

    from .way import Way

__all__ = ["ROUTINGS", "Fork", "Routing"]


class Fork(NamedTuple):
    """A packet at a router, with its end in another column and in another row.

    Parameters
    ----------
    ends : tuple of int
        Addresses of its source and of its destination.
    x, y : int
        Where it is.
    start_x, end_x : int
        Columns of the source and of the destination.
    across, along : str
        Directions that lead nearer to its end: "east" or "west", "north" or "south".
    """

    ends: tuple[int, int]
    x: int
    y: int
    start_x: int
    end_x: int
    across: str
    along: str


class Routing(ABC):
    """Which of two directions a packet takes, of those that lead nearer to its end.

    Both methods say the same, one in hardware and one in Python; neither is made from the other.
    All packets of a pair of ends have one way, so nothing but addresses and places may decide, and
    no circle of links may wait for each other: tests hold all that of every one.
    """

    @abstractmethod
    def port(self, fork: Fork) -> str:
        """Return ``fork.across`` or ``fork.along``."""

    @abstractmethod
    def between(
        self, m: "Module", way: "Way", end: "data.View", across: "Value", along: "Value"
    ) -> "Value":
        """Return the same in hardware, where the end is in another column.

        Parameters
        ----------
        m : Module
            That of ``way``.
        way : Way
            Has ``source``, ``destination``, ``here`` and the mesh.
        end : View
            Where the destination is: ``x`` and ``y``.
        across, along : Value
            One bit high by numbers of ``DIRECTIONS``; none of ``along`` if the end is in this row.
        """


ROUTINGS: Registry[Routing] = Registry("fred_hw.mesh.routings", "way through a mesh")
"""How routers choose the way of a packet, by name."""
