"""All-gather by multicasts: each member sends its share once, and switches copy the share."""

from collections.abc import Sequence

from perfmodel.collectives.algorithm import ALGORITHMS, Algorithm
from perfmodel.collectives.bounds import free
from perfmodel.collectives.schedule import ScheduleBuilder

__all__ = ["multicasts"]

_LARGEST = 64
"""Largest group: each member has a tree with a path to every other member."""


def multicasts(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, _pattern: str
) -> None:
    """Add an all-gather that consists of one multicast from each member.

    A source has one set of destinations, so it waits for no acks in between.
    """
    for member in members:
        shard = builder.add_shard(member, chunk_bytes / len(members))
        others = [other for other in members if other != member]
        builder.send((member,), others, (shard,), "copy")


ALGORITHMS.add(
    "multicasts",
    Algorithm(
        lambda topology, _: f"a multicast from each member, {topology.multicast}",
        multicasts,
        ("all_gather",),
        needs=f"a mesh or switches that fork multicasts, and at most {_LARGEST} NPUs, "
        "as each has a tree to all others",
        fits=lambda topology, group: bool(topology.multicast) and len(group) <= _LARGEST,
        least_s=free,
        assumptions=lambda topology, _: topology.fork_assumptions,
    ),
    rank=8.5,
)
