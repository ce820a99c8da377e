"""Streams between storage and NPUs: broadcast from, and reduction to, all I/O controllers."""

from collections.abc import Sequence

from fred_hw.progress import track
from perfmodel.collectives.algorithms.two_level import equal_clusters, two_level_ring
from perfmodel.topology.graph import Topology

from .schedule import Part, Schedule, ScheduleBuilder

__all__ = ["STREAMS", "build_stream"]

STREAMS = ("stream_in", "stream_out")
"""Stream patterns: weights or inputs to the NPUs, gradients back to storage."""

_NOTHING = 1e-12  # smaller shares are rounding errors

_RINGS = {
    "stream_in": (
        "I/O controllers hand out shares, on their own L1 if they can, and NPUs pass them on in "
        "rings"
    ),
    "stream_out": (
        "NPUs reduce in rings and hand shares to I/O controllers, on their own L1 where they can"
    ),
}


def build_stream(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], bytes_each: float
) -> Schedule:
    """Return the schedule of streams between all I/O controllers and groups of NPUs.

    Each I/O controller has an equal share of the data of each group. Inwards, each member of a
    group receives all data; outwards, the contributions of all members are reduced. This uses
    trees, or the switches where these fork and reduce messages, and otherwise rings of the NPUs.

    Parameters
    ----------
    topology : Topology
        Topology of the streams.
    pattern : str
        ``stream_in`` or ``stream_out``.
    groups : sequence of sequence of int
        NPUs of each group.
    bytes_each : float
        Data of each group [B].

    Raises
    ------
    ValueError
        The topology has no I/O controllers.
    """
    ios = topology.io_nodes
    if not ios:
        raise ValueError(f"{topology.name} must have I/O controllers for streaming, not none")
    builder = ScheduleBuilder(topology, lockstep=True)
    parts: list[Part] = []
    trees = bool(topology.multicast) if pattern == "stream_in" else topology.adds
    for group in track(groups, "groups"):
        share = bytes_each / len(ios)
        if trees:
            for io in track(ios, "trees of I/O controllers"):
                shard = builder.add_shard(io, share)
                if pattern == "stream_in":
                    builder.send((io,), group, (shard,), "copy")
                else:
                    hops = topology.reduction_hops(group, io)
                    builder.send(group, (io,), (shard,), "reduce", hops)
        elif pattern == "stream_in":
            _hand(builder, topology, group, bytes_each, out=True)
            _rings(builder, topology, group, bytes_each, "all_gather")
        else:
            _rings(builder, topology, group, bytes_each, "reduce_scatter")
            _hand(builder, topology, group, bytes_each, out=False)
        parts.append(builder.end_part(group))
    if not trees:
        name, assumption = "rings", _RINGS[pattern]
    else:
        name = "in-network" if topology.in_network else "trees"
        assumption = topology.stream_assumptions.get(pattern, "")
    assumptions = (assumption,) if assumption else ()
    return Schedule(pattern, name, tuple(parts), tuple(builder.messages), assumptions)


def _shares(topology: Topology, group: Sequence[int]) -> dict[tuple[int, int], float]:
    """Return the share of the data between each I/O controller and each member.

    Every controller has the same share in all, and every member too. What can stay on an L1
    stays; controllers of an L1 that has more than its members take serve the members that lack.
    """
    supply = dict.fromkeys(topology.io_nodes, 1 / len(topology.io_nodes))
    demand = dict.fromkeys(group, 1 / len(group))
    shares: dict[tuple[int, int], float] = {}
    switch_of = topology.switch_of
    for switch in dict.fromkeys(switch_of.values()):
        ios = [io for io in supply if switch_of.get(io) == switch]
        members = [member for member in group if switch_of.get(member) == switch]
        if not ios or not members:
            continue
        offered, wanted = (
            sum(part[node] for node in nodes) for part, nodes in ((supply, ios), (demand, members))
        )
        each = min(offered, wanted) / len(ios) / len(members)
        for io in ios:
            supply[io] -= each * len(members)
            shares.update({(io, member): each for member in members})
        for member in members:
            demand[member] -= each * len(ios)
    lacking = {member: part for member, part in demand.items() if part > _NOTHING}
    total = sum(lacking.values())
    for io, part in supply.items():
        if part > _NOTHING:
            for member, lack in lacking.items():
                shares[io, member] = shares.get((io, member), 0.0) + part * lack / total
    return shares


def _hand(
    builder: ScheduleBuilder,
    topology: Topology,
    group: Sequence[int],
    group_bytes: float,
    *,
    out: bool,
) -> None:
    """Send each share between its I/O controller and its member, in either direction."""
    for ends, share in _shares(topology, group).items():
        source, target = ends if out else ends[::-1]
        shard = builder.add_shard(source, share * group_bytes)
        builder.send((source,), (target,), (shard,), "copy", feeds_pass=out)


def _rings(
    builder: ScheduleBuilder,
    topology: Topology,
    group: Sequence[int],
    group_bytes: float,
    pattern: str,
) -> None:
    if len(group) < 2:
        return
    if equal_clusters(topology, group):
        two_level_ring(builder, group, group_bytes, pattern)
    else:
        builder.pass_around(group, (len(group) - 1) / len(group) * group_bytes)
