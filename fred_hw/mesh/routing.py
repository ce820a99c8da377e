"""The interface of a routing algorithm, and the registry of algorithms."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from fred_hw.registry import Registry

if TYPE_CHECKING:
    from amaranth.hdl import Module, Value
    from amaranth.lib import data

    from fred_hw.spec import SwitchSpec
    from fred_hw.unit import Unit

__all__ = ["ROUTINGS", "Fork", "Routing", "WiredFork"]


class Fork(NamedTuple):
    """A packet at a router whose destination is in another column and another row.

    Parameters
    ----------
    ends : tuple of int
        Addresses of its source and of its destination.
    x, y : int
        Position of the router.
    start_x, end_x : int
        Columns of the source and of the destination.
    across, along : str
        Directions that lead nearer to its end: "east" or "west", "north" or "south".
    alternate : bool
        If sources choose: its source chose the route that addresses alone do not select.
    """

    ends: tuple[int, int]
    x: int
    y: int
    start_x: int
    end_x: int
    across: str
    along: str
    alternate: bool = False


class WiredFork(NamedTuple):
    """The same as hardware signals, for a packet whose destination is in another column.

    Parameters
    ----------
    source, destination : Value
        Addresses of its ends.
    here, end : View
        Positions of the router and of the destination: ``x`` and ``y``.
    columns : tuple of int
        Column of each address.
    across, along : Value
        One bit high by numbers of directions; none of ``along`` if the end is in this row.
    east : Value
        Whether ``across`` leads east.
    alternate : Value
        If sources choose: its source chose the route that addresses alone do not select.
    """

    source: "Value"
    destination: "Value"
    here: "data.View"
    end: "data.View"
    columns: tuple[int, ...]
    across: "Value"
    along: "Value"
    east: "Value"
    alternate: "Value"


class Routing(ABC):
    """Choice between the two directions that lead toward the destination.

    ``port`` and ``between`` make the same choice, one in Python and one in hardware; neither is
    derived from the other. Packets from one address to another have one route at a time. So only
    addresses and positions may decide, and the choice of the source if it ``chooses``. Links must
    not wait for each other in a cycle, whatever the source chooses. Tests check this of every
    algorithm.
    """

    wraps: bool = False
    """Whether it is for a torus; others are for a mesh."""

    channels: int = 1
    """Virtual channels of each urgency class that links between routers have.

    More than one only if it ``wraps`` and sources do not choose.
    """

    chooses: bool = False
    """Whether sources choose one of two routes while none of their packets is in flight."""

    def __init_subclass__(cls) -> None:
        """Refuse several virtual channels where routers and sources do not support them."""
        super().__init_subclass__()
        if cls.channels > 1 and (cls.chooses or not cls.wraps):
            raise TypeError(
                f"{cls.__name__} channels must be 1 unless it wraps and sources do not choose, "
                f"not {cls.channels}"
            )

    @abstractmethod
    def port(self, fork: Fork) -> str:
        """Return ``fork.across`` or ``fork.along``."""

    @abstractmethod
    def between(self, m: "Module", fork: WiredFork) -> "Value":
        """Return ``fork.across`` or ``fork.along`` as hardware, in the routing module."""

    def step(self, here: int, end: int, size: int) -> int:
        """Return the step toward a destination along a row or a column: 1, -1, or 0 if it is here.

        Parameters
        ----------
        here, end, size : int
            Positions of router and destination in the row or column, and its length.
        """
        return (end > here) - (end < here)

    def toward(
        self, m: "Module", here: "Value", end: "Value", size: int
    ) -> tuple["Value", "Value"]:
        """Return as hardware whether ``step`` is 1, and whether it is -1."""
        return end > here, end < here

    def channel(self, channel: int, *, straight: bool, wraps: bool) -> int:
        """Return the virtual channel, of the packet's class, on which it leaves a router.

        Hardware is made from it. Nothing but input and output decides, so that all packets of a
        queue that leave by one output do so on one channel.

        Parameters
        ----------
        channel : int
            Channel on which the packet came; 0 from an NPU.
        straight : bool
            Whether the packet leaves in the direction in which it came.
        wraps : bool
            Whether it leaves by a link from one edge to the other.
        """
        return 0

    def forks(self, m: "Module", fork: WiredFork) -> "Value":
        """Return whether a packet may leave its first router by either port, if sources choose."""
        raise NotImplementedError

    def choice(self, spec: "SwitchSpec") -> "Unit":
        """Return the unit with which a source finds its routes, if sources choose."""
        raise NotImplementedError

    def named(self, fork: WiredFork) -> "Value":
        """Return whether addresses alone select ``fork.along`` there, if sources choose."""
        raise NotImplementedError


ROUTINGS: Registry[Routing] = Registry("fred_hw.mesh.routings", "routing algorithm of a mesh")
"""Routing algorithms by name."""
