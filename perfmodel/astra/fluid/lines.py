"""What joins the NPUs of a line, as links that messages share."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, cast

from fred_hw.errors import InputError
from perfmodel.astra.network import Dimension
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.select import PUBLISHED
from perfmodel.topology.graph import Topology

__all__ = ["BlockLine", "FabricLine", "Line", "Link", "Way"]

Link = Hashable
"""A directed link; in a block the places that it joins, -1 being the switch."""

_WAYS = 1 << 16


class Way(NamedTuple):
    """A way from one NPU to another.

    Parameters
    ----------
    links : tuple
        On it.
    latency_ns : float
        Of all of them, and of the switches between [ns].
    """

    links: tuple[Link, ...]
    latency_ns: float


class Line(ABC):
    """What joins some NPUs, by their places from 0 on.

    Parameters
    ----------
    npus : int
        How many.
    """

    def __init__(self, npus: int) -> None:
        self.npus = npus
        self.way = lru_cache(_WAYS)(self._way)

    @abstractmethod
    def _way(self, source: int, target: int) -> Way:
        """Return the way between two places."""

    @abstractmethod
    def bytes_per_ns(self, link: Link) -> float:
        """Return the rate of a link [bytes per ns]."""


class BlockLine(Line):
    """A line of NPUs along a dimension of ASTRA-sim's networks.

    Messages cut through: they take the latency of their links and their bytes at the rate of one.
    All NPUs are alike: to turn the places round turns links into links.

    Parameters
    ----------
    dimension : Dimension
        What joins them.
    """

    def __init__(self, dimension: Dimension) -> None:
        super().__init__(dimension.npus)
        self.dimension = dimension

    def _way(self, source: int, target: int) -> Way:
        links = tuple(pairwise(self.dimension.way(source, target)))
        return Way(links, len(links) * self.dimension.latency_ns)

    def bytes_per_ns(self, link: Link) -> float:
        """Return the rate of each link [bytes per ns]."""
        return self.dimension.bytes_per_ns

    def like(self, link: Link) -> tuple[int, int]:
        """Return the link from place 0, or to it, that a link can be turned into."""
        source, target = cast("tuple[int, int]", link)
        if target < 0:
            return 0, -1
        return (-1, 0) if source < 0 else (0, (target - source) % self.npus)

    def turned(self, link: Link) -> Iterable[Link]:
        """Return all links that a link from place 0, or to it, can be turned into."""
        source, target = cast("tuple[int, int]", link)
        for place in range(self.npus):
            yield tuple(one if one < 0 else (one + place) % self.npus for one in (source, target))


class FabricLine(Line):
    """A fabric of ours, all NPUs of it or the first ones.

    Parameters
    ----------
    topology : Topology
        The fabric.
    algorithm : str
        Of collectives: ``published``, ``auto`` for the one that is fastest by itself, or of
        all-reduces alone one of ``perfmodel.collectives.algorithm.ALGORITHMS``.

    Raises
    ------
    InputError
        There is no such algorithm.
    """

    def __init__(self, topology: Topology, algorithm: str = "published") -> None:
        super().__init__(topology.npus)
        known = ("auto", PUBLISHED, *ALGORITHMS)
        if algorithm not in known:
            message = f"must be one of {', '.join(known)}, not {algorithm!r:.60}"
            raise InputError("algorithm", "", message)
        self.topology, self.algorithm = topology, algorithm

    def algorithm_of(self, pattern: str) -> str:
        """Return the algorithm of a collective."""
        named = self.algorithm not in ("auto", PUBLISHED)
        return PUBLISHED if named and pattern != "all_reduce" else self.algorithm

    def _way(self, source: int, target: int) -> Way:
        hops = self.topology.hops((source,), (target,))
        return Way(tuple(link for link, _ in hops), 1e9 * self.topology.latency_s(hops))

    def bytes_per_ns(self, link: Link) -> float:
        """Return what a link leaves for payload [bytes per ns]."""
        return self.topology.capacities[cast("int", link)] / 1e9
