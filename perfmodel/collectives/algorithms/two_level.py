"""Hierarchical two-level rings: the endpoint algorithm of FRED-A and FRED-C."""

from collections.abc import Sequence

from perfmodel.collectives.schedule import ScheduleBuilder
from perfmodel.topology.fred import FredTopology

from .ring import all_gather_ring, reduce_scatter_ring

__all__ = ["by_switch", "two_level_ring"]


def by_switch(fred: FredTopology, members: Sequence[int]) -> list[list[int]]:
    """Return the members on each L1 switch, in the order in which they were given."""
    switches: dict[int, list[int]] = {}
    for member in members:
        switches.setdefault(fred.l1_of(member), []).append(member)
    return list(switches.values())


def two_level_ring(
    builder: ScheduleBuilder, switches: Sequence[Sequence[int]], chunk_bytes: float, pattern: str
) -> None:
    """Add an all-reduce, reduce-scatter or all-gather on two levels of rings.

    Reduce-scatter within each L1, then around the members of equal place across the L1s;
    all-gather the same way back.

    Parameters
    ----------
    builder : ScheduleBuilder
        Takes the transfers.
    switches : sequence of sequence of int
        Members on each L1 switch, equally many.
    chunk_bytes : float
        Data that each member holds [B].
    pattern : str
        ``all_reduce``, ``reduce_scatter`` or ``all_gather``.
    """
    places = range(len(switches[0]))
    levels = range(len(switches))
    share = chunk_bytes / (len(places) * len(levels))
    shard = {(i, j): builder.add_shard(switches[j][i], share) for i in places for j in levels}
    local = [tuple(shard[i, j] for j in levels) for i in places]
    across = [
        ([switch[i] for switch in switches], [(shard[i, j],) for j in levels]) for i in places
    ]
    if pattern != "all_gather":
        for members in switches:
            reduce_scatter_ring(builder, members, local)
        for members, parts in across:
            reduce_scatter_ring(builder, members, parts)
    if pattern != "reduce_scatter":
        for members, parts in across:
            all_gather_ring(builder, members, parts)
        for members in switches:
            all_gather_ring(builder, members, local)
