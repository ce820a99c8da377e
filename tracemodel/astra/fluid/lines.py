"""Links of a dimension that messages share."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

from tracemodel.astra.network import Dimension

if TYPE_CHECKING:
    from perfmodel.topology.graph import Topology

__all__ = ["BlockLine", "Cost", "Line", "Link", "Route"]

Link = Hashable
"""A directed link; in a block the positions of its two ends, with -1 for the switch."""

_MOST_ROUTES = 1 << 16


class Route(NamedTuple):
    """A route from one NPU to another.

    Parameters
    ----------
    links : tuple
        Links of the route.
    latency_ns : float
        Latency of these links, and of the switches between them [ns].
    """

    links: tuple[Link, ...]
    latency_ns: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a collective phase.

    Parameters
    ----------
    time_ns : float
        Alone [ns].
    bytes : dict
        Bytes on each link [B]; where ``turned``, of one link of those that are turned into each
        other, which all have as many.
    turned : bool
        Whether one link stands for others.
    """

    time_ns: float
    bytes: dict[Link, float]
    turned: bool = False


class Line(ABC):
    """The links between some NPUs, addressed by position from 0.

    Parameters
    ----------
    npus : int
        Number of NPUs.
    """

    fabric: "Topology | None" = None
    """The built-in fabric, which has its own collectives; None for other lines."""

    turns = False
    """Whether the line is symmetric: rotating the positions maps links to links."""

    def __init__(self, npus: int) -> None:
        self.npus = npus
        self.route = lru_cache(_MOST_ROUTES)(self._route)

    @abstractmethod
    def _route(self, source: int, target: int) -> Route:
        """Return the route between two positions."""

    def collective(
        self, kind: str, size: int, members: Sequence[int], every: Sequence[tuple[int, ...]] = ()
    ) -> Cost:
        """Return the cost of a collective on a built-in fabric.

        Parameters
        ----------
        kind : str
            Kind of the collective.
        size : int
            Size of the whole vector [B].
        members : sequence of int
            Positions of the participants.
        every : sequence of tuple of int
            Groups, including these members, that may run the same collective at any time: switches
            need paths for all at once, or else without rounds.
        """
        raise NotImplementedError

    @abstractmethod
    def bytes_per_ns(self, link: Link) -> float:
        """Return the rate of a link [bytes per ns]."""

    def like(self, link: Link) -> Link:
        """Return the representative of a link: its rotation that starts or ends at position 0."""
        return link

    def turned(self, link: Link) -> Iterable[Link]:
        """Return all rotations of a representative link."""
        return (link,)


class BlockLine(Line):
    """The links between NPUs along one dimension of an ASTRA-sim network.

    Messages cut through: they take the latency of all their links, and the time of their bytes on
    one link.

    Parameters
    ----------
    dimension : Dimension
        The dimension.
    """

    turns = True

    def __init__(self, dimension: Dimension) -> None:
        super().__init__(dimension.npus)
        self.dimension = dimension

    def _route(self, source: int, target: int) -> Route:
        links = tuple(pairwise(self.dimension.route(source, target)))
        return Route(links, len(links) * self.dimension.latency_ns)

    def bytes_per_ns(self, link: Link) -> float:
        return self.dimension.bytes_per_ns

    def like(self, link: Link) -> Link:
        source, target = cast("tuple[int, int]", link)
        if target < 0:
            return 0, -1
        return (-1, 0) if source < 0 else (0, (target - source) % self.npus)

    def turned(self, link: Link) -> Iterable[Link]:
        source, target = cast("tuple[int, int]", link)
        for place in range(self.npus):
            yield tuple(one if one < 0 else (one + place) % self.npus for one in (source, target))
