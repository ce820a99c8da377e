"""Logical rings: the endpoint algorithm for any group."""

from collections.abc import Sequence
from itertools import pairwise

from .schedule import ScheduleBuilder

__all__ = ["all_gather_ring", "chain", "reduce_scatter_ring", "ring"]


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
        Shards of each member.
    """
    count = len(members)
    for step in range(count - 1):
        for i, member in enumerate(members):
            after = members[(i + 1) % count]
            builder.send((member,), (after,), parts[(i - 1 - step) % count], "reduce")


def all_gather_ring(
    builder: ScheduleBuilder, members: Sequence[int], parts: Sequence[Sequence[int]]
) -> None:
    """Pass ``parts[i]`` of ``members[i]`` around the ring to all others, in N - 1 steps."""
    count = len(members)
    for step in range(count - 1):
        for i, member in enumerate(members):
            after = members[(i + 1) % count]
            builder.send((member,), (after,), parts[(i - step) % count], "copy")


def ring(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add an all-reduce, reduce-scatter or all-gather around one ring in the given order."""
    share = chunk_bytes / len(members)
    parts = [(builder.add_shard(member, share),) for member in members]
    if pattern != "all_gather":
        reduce_scatter_ring(builder, members, parts)
    if pattern != "reduce_scatter":
        all_gather_ring(builder, members, parts)


def chain(builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float) -> None:
    """Add a broadcast from the first member to the second, from that to the third, and so on."""
    shard = builder.add_shard(members[0], chunk_bytes)
    for here, there in pairwise(members):
        builder.send((here,), (there,), (shard,), "copy")
