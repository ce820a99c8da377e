"""A fabric of ours as a line: what joins its NPUs, and its collectives."""

from collections.abc import Sequence
from typing import cast

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.run import profile
from perfmodel.collectives.select import PUBLISHED
from perfmodel.topology.graph import Topology

from .lines import Cost, Line, Link, Way

__all__ = ["FabricLine"]


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
        self.fabric, self.topology, self.algorithm = topology, topology, algorithm

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

    def collective(self, kind: str, size: int, members: Sequence[int]) -> Cost:
        """Return what a collective takes, of so many bytes of the whole vector."""
        if not size:
            return Cost(0.0, {})
        found, _ = profile(self.topology, kind, size, [members], self.algorithm_of(kind))
        carried: dict[Link, float] = {}
        for link, count in found.loads:
            carried[link] = carried.get(link, 0.0) + count
        return Cost(1e9 * found.time_s, carried)
