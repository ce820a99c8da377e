"""Collectives inside the switches (the algorithm of FRED-B and FRED-D), and multicast trees."""

from collections.abc import Sequence

from perfmodel.collectives.algorithm import ALGORITHMS, Algorithm
from perfmodel.collectives.bounds import free, waits_s
from perfmodel.collectives.schedule import PATTERNS, ScheduleBuilder
from perfmodel.topology.graph import Topology

from .direct import direct
from .direct import least_s as direct_s

__all__ = ["in_network", "least_s", "multicast"]


def in_network(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add any collective as flows of the switches.

    An all-reduce is one flow: each L1 reduces its members, the L2 reduces the L1s, and the result
    is distributed on the way back; a group inside one L1 never leaves it. A reduce ends at the
    first member. Reduce-scatter and all-gather are one flow for each member (FRED paper, arXiv
    2406.19580, collectives as flows). A broadcast is a multicast; an all-to-all is direct.
    """
    if pattern in ("broadcast", "all_to_all"):
        add = multicast if pattern == "broadcast" else direct
        add(builder, members, chunk_bytes, pattern)
        return
    if pattern in ("all_reduce", "reduce"):
        shard = builder.add_shard(members[0], chunk_bytes)
        ends = members if pattern == "all_reduce" else members[:1]
        builder.send(members, ends, (shard,), "copy")
        return
    share = chunk_bytes / len(members)
    for member in members:
        shard = builder.add_shard(member, share)
        if pattern == "reduce_scatter":
            builder.send(members, (member,), (shard,), "copy")
        else:
            others = [other for other in members if other != member]
            builder.send((member,), others, (shard,), "copy")


def multicast(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, _pattern: str
) -> None:
    """Add a broadcast from the first member, multicast by the switches."""
    shard = builder.add_shard(members[0], chunk_bytes)
    builder.send(members[:1], members[1:], (shard,), "copy")


def least_s(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], size_bytes: float
) -> float:
    """Return a lower bound of the time for members that each send to all others [s].

    Parameters
    ----------
    topology, pattern, groups, size_bytes
        As for ``bounds.volume_s``.
    """
    if pattern == "all_to_all":
        return direct_s(topology, pattern, groups, size_bytes)
    destinations = max(map(len, groups)) if pattern == "reduce_scatter" else 1
    return waits_s(topology, pattern, groups, destinations)


ALGORITHMS.add(
    "in_network",
    Algorithm(
        lambda topology, pattern: topology.multicast if pattern == "broadcast" else "in-network",
        in_network,
        needs="switches with in-network collectives",
        fits=lambda topology, _: topology.in_network,
        preference={pattern: 4 for pattern in PATTERNS if pattern != "all_to_all"},
        least_s=least_s,
    ),
    rank=7,
)
ALGORITHMS.add(
    "multicast",
    Algorithm(
        lambda topology, _: topology.multicast,
        multicast,
        ("broadcast",),
        needs="a mesh or switches that fork multicasts",
        fits=lambda topology, _: bool(topology.multicast),
        preference={"broadcast": 5},
        least_s=free,
        assumptions=lambda topology, _: topology.fork_assumptions,
    ),
    rank=8,
)
