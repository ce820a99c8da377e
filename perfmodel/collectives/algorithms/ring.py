"""Logical rings: the endpoint algorithm that works for any group."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from perfmodel.collectives.algorithm import ALGORITHMS, Algorithm
from perfmodel.collectives.schedule import PATTERNS, ROOTED, ScheduleBuilder

__all__ = ["all_gather_ring", "bidirectional_ring", "chain", "reduce_scatter_ring", "ring"]


def reduce_scatter_ring(
    builder: ScheduleBuilder, members: Sequence[int], parts: Sequence[Sequence[int]]
) -> None:
    """Reduce ``parts[i]`` around the ring until it is complete at ``members[i]``.

    In step k member i sends part i - 1 - k to the next one; N - 1 steps.

    Parameters
    ----------
    builder : ScheduleBuilder
        Takes the transfers.
    members : sequence of int
        NPUs in the order of the ring.
    parts : sequence of sequence of int
        Shards of each member, equally many bytes.
    """
    _steps(builder, members, parts, "reduce", first=-1)


def all_gather_ring(
    builder: ScheduleBuilder, members: Sequence[int], parts: Sequence[Sequence[int]]
) -> None:
    """Pass ``parts[i]`` of ``members[i]`` around the ring to all others, in N - 1 steps."""
    _steps(builder, members, parts, "copy", first=0)


def _steps(
    builder: ScheduleBuilder,
    members: Sequence[int],
    parts: Sequence[Sequence[int]],
    action: Literal["reduce", "copy"],
    first: int,
) -> None:
    count = len(members)
    if builder.lockstep and count > 1:
        builder.pass_around(members, (count - 1) * builder.shard_bytes(parts[0]))
        return
    for step in range(count - 1):
        for i, member in enumerate(members):
            after = members[(i + 1) % count]
            builder.send((member,), (after,), parts[(i + first - step) % count], action)


def ring(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add a collective around one ring, in the topology's ring order.

    A broadcast or a reduce goes along the chain of members, from or to the first. In an
    all-to-all each member passes on what is for those behind it.
    """
    _around(builder, builder.topology.ring_order(members), chunk_bytes, pattern)


def _around(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add a collective around one ring in the given order."""
    if pattern in ROOTED:
        chain(builder, members, chunk_bytes, pattern)
        return
    share = chunk_bytes / len(members)
    if pattern == "all_to_all":
        _all_to_all(builder, members, share)
        return
    parts = [(builder.add_shard(member, share),) for member in members]
    if pattern != "all_gather":
        reduce_scatter_ring(builder, members, parts)
    if pattern != "reduce_scatter":
        all_gather_ring(builder, members, parts)


def bidirectional_ring(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add a collective around two rings of opposite direction, half of the data in each.

    A broadcast or a reduce goes along two chains, which leave the root in both directions. To
    endpoints a pair is one ring, as one flow would be that of both.
    """
    if len(members) == 2 and builder.topology.endpoint is not None:
        ring(builder, members, chunk_bytes, pattern)
        return
    there = list(builder.topology.ring_order(members))
    first = builder.lane
    for lane, order in enumerate((there, [there[0], *reversed(there[1:])])):
        builder.lane = first + lane
        _around(builder, order, chunk_bytes / 2, pattern)
    builder.lane = first


def _all_to_all(builder: ScheduleBuilder, members: Sequence[int], share: float) -> None:
    """Forward, step by step, the shards that have not reached their receiver."""
    count = len(members)
    if builder.lockstep:
        builder.add_shard(members[0], share, members[1])
        builder.pass_around(members, count * (count - 1) / 2 * share)
        return
    shard = {
        (i, away): builder.add_shard(members[i], share, members[(i + away) % count])
        for i in range(count)
        for away in range(1, count)
    }
    for step in range(count - 1):
        for i, member in enumerate(members):
            origin = (i - step) % count
            travelling = [shard[origin, away] for away in range(step + 1, count)]
            builder.send((member,), (members[(i + 1) % count],), travelling, "copy")


def chain(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add a broadcast from member to member, or a reduce in the opposite direction."""
    shard = builder.add_shard(members[0], chunk_bytes)
    if pattern == "reduce":
        for there, here in reversed(list(pairwise(members))):
            builder.send((here,), (there,), (shard,), "reduce")
        return
    for here, there in pairwise(members):
        builder.send((here,), (there,), (shard,), "copy")


ALGORITHMS.add(
    "ring",
    Algorithm(
        lambda _, pattern: "chain" if pattern in ROOTED else "ring",
        ring,
        preference=dict.fromkeys(PATTERNS, 1),
        passes=True,
    ),
    rank=0,
)
ALGORITHMS.add(
    "bidirectional_ring",
    Algorithm(
        lambda _, pattern: "two chains" if pattern in ROOTED else "bidirectional ring",
        bidirectional_ring,
        passes=True,
    ),
    rank=1,
)
