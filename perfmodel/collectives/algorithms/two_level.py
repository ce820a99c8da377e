"""Hierarchical two-level rings: the endpoint algorithm of FRED-A and FRED-C."""

from collections.abc import Mapping, Sequence

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED, Algorithm
from perfmodel.collectives.schedule import ScheduleBuilder
from perfmodel.topology.graph import Topology

from .ring import all_gather_ring, reduce_scatter_ring

__all__ = ["equal_clusters", "rings", "two_level_ring"]


def equal_clusters(topology: Topology, members: Sequence[int]) -> list[list[int]]:
    """Return the members on each switch in order; empty if two levels do not fit.

    They fit equally many members, two or more, on each of several switches.
    """
    clusters: dict[int, list[int]] = {}
    for member in members:
        clusters.setdefault(topology.switch_of.get(member, -1), []).append(member)
    sizes = {len(found) for found in clusters.values()}
    return list(clusters.values()) if len(clusters) > 1 and len(sizes) == 1 and sizes != {1} else []


def two_level_ring(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add an all-reduce, reduce-scatter or all-gather on two levels of rings.

    Reduce-scatter within each L1, then around the members of equal place across the L1s;
    all-gather the same way back.

    Parameters
    ----------
    builder : ScheduleBuilder
        Takes the transfers.
    members : sequence of int
        NPUs, equally many on each L1 switch.
    chunk_bytes : float
        Data that each member holds [B].
    pattern : str
        ``all_reduce``, ``reduce_scatter`` or ``all_gather``.
    """
    share = chunk_bytes / len(members)
    parts = {member: (builder.add_shard(member, share),) for member in members}
    _two_levels(builder, equal_clusters(builder.topology, members), parts, pattern)


def rings(
    builder: ScheduleBuilder,
    members: Sequence[int],
    parts: Mapping[int, tuple[int, ...]],
    pattern: str,
) -> None:
    """Add a reduce-scatter or an all-gather of given shards on two levels of rings or on one.

    Parameters
    ----------
    builder : ScheduleBuilder
        Takes the transfers.
    members : sequence of int
        NPUs, one or more.
    parts : mapping
        Shards of each member, equally many bytes.
    pattern : str
        ``reduce_scatter`` or ``all_gather``.
    """
    switches = equal_clusters(builder.topology, members)
    if switches:
        _two_levels(builder, switches, parts, pattern)
    elif len(members) > 1:
        step = reduce_scatter_ring if pattern == "reduce_scatter" else all_gather_ring
        step(builder, members, [parts[member] for member in members])


def _two_levels(
    builder: ScheduleBuilder,
    switches: Sequence[Sequence[int]],
    parts: Mapping[int, tuple[int, ...]],
    pattern: str,
) -> None:
    """Add a collective of given shards; each switch has equally many members."""
    places = range(len(switches[0]))
    local = [tuple(shard for row in switches for shard in parts[row[i]]) for i in places]
    across = [([row[i] for row in switches], [parts[row[i]] for row in switches]) for i in places]
    if pattern != "all_gather":
        for switch in switches:
            reduce_scatter_ring(builder, switch, local)
        for ring, own in across:
            reduce_scatter_ring(builder, ring, own)
    if pattern != "reduce_scatter":
        for ring, own in across:
            all_gather_ring(builder, ring, own)
        for switch in switches:
            all_gather_ring(builder, switch, local)


ALGORITHMS.add(
    "two_level_ring",
    Algorithm(
        "two-level ring",
        two_level_ring,
        SCATTERED,
        needs="a group with 2 or more NPUs, equally many, on each of several L1 switches",
        fits=lambda topology, group: bool(equal_clusters(topology, group)),
        preference=dict.fromkeys(SCATTERED, 2),
    ),
    rank=6,
)
