"""Transfers: the data that a schedule moves over links."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from perfmodel.topology.graph import Hops, OnWafer

__all__ = ["Exchange", "Loads", "RingPass", "Sent", "Transfer"]

Loads = tuple[tuple[int, float], ...]
"""Links, each with the multiple of the payload that crosses it."""

Sent = tuple[tuple[int, ...], tuple[int, ...], Hops]
"""Nodes that send together, nodes that receive, and the route."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """One message over links: a chain, or a tree that joins or forks.

    Parameters
    ----------
    sources, targets : tuple of int
        Source nodes and target nodes; NPU number i is node i.
    hops : tuple
        Links in an order in which each follows those before it; see ``topology.graph.Hops``.
    payload_bytes : float
        Bytes on each of its links [B].
    after : tuple of int
        Indices of earlier transfers in the same list that must be complete. A source waits for the
        part of such a transfer that it receives itself; if no source receives any of it, all
        sources wait until every target has it.
    shards : tuple of int
        Parts of the data that the message holds, for the symbolic check.
    action : str
        ``reduce`` adds to the data of the targets, ``copy`` replaces it. Data of several sources is
        reduced on the way.
    step : int
        Index of the first message of a simultaneous step, whose messages all start from the data
        before the step; -1 for a single message.
    """

    sources: tuple[int, ...]
    targets: tuple[int, ...]
    hops: Hops
    payload_bytes: float
    after: tuple[int, ...] = ()
    shards: tuple[int, ...] = ()
    action: Literal["reduce", "copy"] = "copy"
    step: int = -1

    def moved(self, placed: OnWafer, number: int, shard: int) -> "Transfer":
        """Return the same among all wafers, behind so many messages and shards."""
        return replace(
            self,
            sources=tuple(placed.nodes[node] for node in self.sources),
            targets=tuple(placed.nodes[node] for node in self.targets),
            hops=placed.hops(self.hops),
            after=tuple(number + one for one in self.after),
            shards=tuple(shard + one for one in self.shards),
            step=self.step if self.step < 0 else number + self.step,
        )

    @property
    def joins(self) -> bool:
        """Whether the message joins or forks; False for a unicast."""
        return len(self.sources) + len(self.targets) > 2

    def sends(self) -> Iterator[Sent]:
        """Yield the sends of the transfer; an empty message has none."""
        if self.hops:
            yield self.sources, self.targets, self.hops

    def loads(self) -> Loads:
        """Return the load on each link."""
        return tuple([(link, 1.0) for link, _ in self.hops])

    def late_s(self, latency_s: Callable[[Hops], float]) -> float:
        """Return the latency of the transfer, given the latency of a route [s]."""
        return latency_s(self.hops)


@dataclass(frozen=True, slots=True)
class RingPass:
    """One pass around a logical ring, with all messages as one item.

    In each of N - 1 steps every member sends a message to the next one, and passes on in the next
    step what it has received.

    Parameters
    ----------
    members : tuple of int
        NPUs in the order of the ring.
    edges : tuple
        Links from each member to the next, in the order of the members.
    payload_bytes : float
        Bytes that each member sends in all steps together [B].
    after : tuple of int
        Positions of transfers that must be complete before any member starts.
    line_offsets : tuple of int
        Differences between the numbers of the NPUs in other lines and here. The other lines do the
        same at the same time over their own links; see ``ScheduleBuilder.representative_lines``.
    """

    members: tuple[int, ...]
    edges: tuple[Hops, ...]
    payload_bytes: float
    after: tuple[int, ...] = ()
    line_offsets: tuple[int, ...] = ()

    joins: ClassVar[bool] = False

    def moved(self, placed: OnWafer, number: int, _shard: int) -> Self:
        """Return the same among all wafers, behind so many messages."""
        return replace(
            self,
            members=tuple(placed.nodes[node] for node in self.members),
            edges=tuple(placed.hops(hops) for hops in self.edges),
            after=tuple(number + one for one in self.after),
        )

    @property
    def sources(self) -> tuple[int, ...]:
        """NPUs that send in the pass."""
        return self.members

    def sends(self) -> Iterator[Sent]:
        """Yield the send of each member."""
        for i, hops in enumerate(self.edges):
            yield (self.members[i],), (self.members[(i + 1) % len(self.members)],), hops

    def loads(self) -> Loads:
        """Return the load on each link."""
        carried: dict[int, float] = {}
        for hops in self.edges:
            for link, _ in hops:
                carried[link] = carried.get(link, 0.0) + 1.0
        return tuple(carried.items())

    def late_s(self, latency_s: Callable[[Hops], float]) -> float:
        """Return the latency of the pass, in which a shard crosses all edges but one [s].

        The slowest leaves out the quickest edge.
        """
        edges_s = [latency_s(hops) for hops in self.edges]
        return sum(edges_s) - min(edges_s)


@dataclass(frozen=True, slots=True)
class Exchange(RingPass):
    """A step in which every member sends to each other member, as one item.

    No member starts before all are ready. ``edges`` are the links from each member to each other;
    ``payload_bytes`` are all that a member sends.
    """

    def sends(self) -> Iterator[Sent]:
        """Yield the sends of each member to each other member."""
        pairs = ((a, b) for a in self.members for b in self.members if a != b)
        for (source, target), hops in zip(pairs, self.edges, strict=True):
            yield (source,), (target,), hops

    def loads(self) -> Loads:
        """Return the load on each link."""
        others = len(self.members) - 1
        carried = Counter(link for hops in self.edges for link, _ in hops)
        return tuple((link, count / others) for link, count in carried.items())

    def late_s(self, latency_s: Callable[[Hops], float]) -> float:
        """Return the latency of the longest route [s]."""
        return max(map(latency_s, self.edges))
