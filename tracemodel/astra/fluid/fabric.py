"""A built-in fabric as a dimension of a network, with the fabric's own collectives."""

from collections.abc import Sequence
from typing import cast

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.select import PUBLISHED
from perfmodel.network.fluid.path_conflicts import PathConflicts, path_conflicts
from perfmodel.network.run import profile
from perfmodel.topology.graph import Topology

from .lines import Cost, Line, Link, Route

__all__ = ["FabricLine"]


_Turns = tuple[str, int, object]
"""Virtual link for the rounds of conflicting groups in a switch: its node, and the groups."""


class FabricLine(Line):
    """The first NPUs of a built-in fabric, or all of them, as a line.

    Parameters
    ----------
    topology : Topology
        The fabric.
    algorithm : str
        Algorithm of collectives: ``published``, ``auto`` for the fastest one by itself, or for
        all-reduces only one of ``perfmodel.collectives.algorithm.ALGORITHMS``.

    Raises
    ------
    InputError
        There is no such algorithm.
    """

    def __init__(self, topology: Topology, algorithm: str = "published") -> None:
        super().__init__(topology.npus)
        known = ("auto", PUBLISHED, *ALGORITHMS)
        if algorithm not in known:
            message = not_one_of(algorithm, known, listed_by="fred collective --help")
            raise InputError("algorithm", "", message)
        self._known: dict[tuple[str, tuple[tuple[int, ...], ...]], list[PathConflicts]] = {}
        self.fabric, self.topology, self.algorithm = topology, topology, algorithm

    def algorithm_of(self, pattern: str) -> str:
        """Return the algorithm that runs a collective on the fabric."""
        named = self.algorithm not in ("auto", PUBLISHED)
        return PUBLISHED if named and pattern != "all_reduce" else self.algorithm

    def _route(self, source: int, target: int) -> Route:
        hops = self.topology.hops((source,), (target,))
        return Route(tuple(link for link, _ in hops), 1e9 * self.topology.latency_s(hops))

    def _path_conflicts(
        self, kind: str, members: tuple[int, ...], every: tuple[tuple[int, ...], ...]
    ) -> PathConflicts:
        """Return the path conflicts inside switches, for the algorithm of the publication."""
        if not self.topology.interconnects or members not in every:
            return {}
        if (kind, every) not in self._known:
            algorithm = self.algorithm_of(kind)
            name = PUBLISHED if algorithm == "auto" else algorithm
            self._known[kind, every] = path_conflicts(self.topology, kind, every, name)
        return self._known[kind, every][every.index(members)]

    def bytes_per_ns(self, link: Link) -> float:
        """Return the payload rate of a link, or of the rounds of a switch [bytes per ns]."""
        if isinstance(link, tuple):
            (_, switch, _) = cast("_Turns", link)
            link = self.topology.rounds_index(switch)
        return self.topology.capacities[cast("int", link)] / 1e9

    def collective(
        self, kind: str, size: int, members: Sequence[int], every: Sequence[tuple[int, ...]] = ()
    ) -> Cost:
        """Return the cost of a collective on a whole vector of ``size`` bytes."""
        if not size:
            return Cost(0.0, {})
        found, _ = profile(self.topology, kind, size, [members], self.algorithm_of(kind))
        carried: dict[Link, float] = {}
        for link, count in found.loads:
            carried[link] = carried.get(link, 0.0) + count
        for (switch, among), share in self._path_conflicts(
            kind, tuple(members), tuple(every)
        ).items():
            carried["turns", switch, (kind, among)] = share * size
        return Cost(1e9 * found.time_s, carried)
