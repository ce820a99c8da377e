"""Transfers: data that a schedule moves over links."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from perfmodel.topology.graph import Hops

__all__ = ["Exchange", "Loads", "RingPass", "Sent", "Transfer"]

Loads = tuple[tuple[int, float], ...]
"""Links, each with how many times the bytes cross it."""

Sent = tuple[tuple[int, ...], tuple[int, ...], Hops]
"""Nodes that send together, nodes that receive, and the way."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """One message over links: a chain, or a tree that joins or forks.

    Parameters
    ----------
    sources, targets : tuple of int
        Nodes that send and nodes that receive; NPU number i is node i.
    hops : tuple
        Links in an order in which each follows those before it; see ``topology.graph.Hops``.
    payload_bytes : float
        Bytes on every link of it [B].
    after : tuple of int
        Positions, in the same list and before this one, of transfers that must be complete. A
        source waits for what it receives itself of such a transfer; if no source receives any
        of it, all sources wait until every target has it.
    shards : tuple of int
        Parts of the data that the message holds, for the symbolic check.
    action : str
        ``reduce`` adds to what the targets hold, ``copy`` replaces it. Several sources are
        added up on the way.
    step : int
        Position of the first of the messages beside it, which begin from what their sources held
        before any of them came; -1 if it is alone.
    """

    sources: tuple[int, ...]
    targets: tuple[int, ...]
    hops: Hops
    payload_bytes: float
    after: tuple[int, ...] = ()
    shards: tuple[int, ...] = ()
    action: Literal["reduce", "copy"] = "copy"
    step: int = -1

    @property
    def joins(self) -> bool:
        """Whether it joins or forks, as unicasts do not."""
        return len(self.sources) + len(self.targets) > 2

    def sends(self) -> Iterator[Sent]:
        """Yield the sends; a transfer that only waits has none."""
        if self.hops:
            yield self.sources, self.targets, self.hops

    def loads(self) -> Loads:
        """Return what it puts on links."""
        return tuple([(link, 1.0) for link, _ in self.hops])

    def late_s(self, latency_s: Callable[[Hops], float]) -> float:
        """Return its latency, given that of a route [s]."""
        return latency_s(self.hops)


@dataclass(frozen=True, slots=True)
class RingPass:
    """One pass around a logical ring, all of its messages as one.

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
    beside : tuple of int
        How much higher the numbers of the NPUs are in other lines that do the same at the same
        time, each over links of its own; see ``ScheduleBuilder.alike``.
    """

    members: tuple[int, ...]
    edges: tuple[Hops, ...]
    payload_bytes: float
    after: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()

    joins: ClassVar[bool] = False

    @property
    def sources(self) -> tuple[int, ...]:
        """NPUs that send."""
        return self.members

    def sends(self) -> Iterator[Sent]:
        """Yield what each member sends."""
        for i, hops in enumerate(self.edges):
            yield (self.members[i],), (self.members[(i + 1) % len(self.members)],), hops

    def loads(self) -> Loads:
        """Return what it puts on links."""
        carried: dict[int, float] = {}
        for hops in self.edges:
            for link, _ in hops:
                carried[link] = carried.get(link, 0.0) + 1.0
        return tuple(carried.items())

    def late_s(self, latency_s: Callable[[Hops], float]) -> float:
        """Return its latency, given that of a route [s]: a shard crosses all edges but one.

        The slowest leaves out the quickest edge.
        """
        edges_s = [latency_s(hops) for hops in self.edges]
        return sum(edges_s) - min(edges_s)


@dataclass(frozen=True, slots=True)
class Exchange(RingPass):
    """A step in which every member sends to each other, all of its messages as one.

    No member starts before all are ready. ``edges`` are the links from each member to each other;
    ``payload_bytes`` are all that a member sends.
    """

    def sends(self) -> Iterator[Sent]:
        """Yield what each member sends to each other."""
        pairs = ((a, b) for a in self.members for b in self.members if a != b)
        for (source, target), hops in zip(pairs, self.edges, strict=True):
            yield (source,), (target,), hops

    def loads(self) -> Loads:
        """Return what it puts on links."""
        others = len(self.members) - 1
        carried = Counter(link for hops in self.edges for link, _ in hops)
        return tuple((link, count / others) for link, count in carried.items())

    def late_s(self, latency_s: Callable[[Hops], float]) -> float:
        """Return the latency of its longest route [s]."""
        return max(map(latency_s, self.edges))
