"""Streams between storage and NPUs: broadcast from, and reduction to, all I/O controllers."""

from collections.abc import Sequence

from fred_hw.progress import track
from perfmodel.topology.graph import Topology

from .controllers import collect, distribute, shares_of
from .schedule import Part, Schedule, ScheduleBuilder

__all__ = ["STREAMS", "build_stream"]

STREAMS = ("stream_in", "stream_out")
"""Stream patterns: weights or inputs to the NPUs, gradients back to storage."""

_RINGS = {
    "stream_in": (
        "I/O controllers hand out shares, on their own L1 if they can, and NPUs pass them on in "
        "rings"
    ),
    "stream_out": (
        "NPUs reduce in rings and hand shares to I/O controllers, on their own L1 where they can"
    ),
}

_WAFERS = {
    "stream_in": "each wafer loads all that its NPUs need through its own I/O controllers",
    "stream_out": "storage adds up the gradients of all wafers",
}


def build_stream(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], bytes_each: float
) -> Schedule:
    """Return the schedule of streams between all I/O controllers and groups of NPUs.

    Each I/O controller has an equal share of the data of each group; each of several wafers moves
    all data through its own controllers. Inwards, each member of a group receives all data;
    outwards, the contributions of all members are reduced. This uses trees, or the switches where
    these fork and reduce messages, and otherwise rings of the NPUs.

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
    if not topology.io_nodes:
        raise ValueError(f"{topology.name} must have I/O controllers for streaming, not none")
    builder = ScheduleBuilder(topology, lockstep=True)
    parts: list[Part] = []
    wafer = topology.wafer or topology
    trees = bool(wafer.multicast) if pattern == "stream_in" else wafer.adds
    for group in track(groups, "groups"):
        for part in track(topology.parts(group), "wafers"):
            shards = {
                route: (builder.add_shard(route.io, share * bytes_each),)
                for route, share in shares_of(topology, part, trees=trees).items()
            }
            add = distribute if pattern == "stream_in" else collect
            add(builder, part.npus, shards)
        parts.append(builder.end_part(group))
    if not trees:
        name, assumption = "rings", _RINGS[pattern]
    else:
        name = "in-network" if wafer.in_network else "trees"
        assumption = topology.stream_assumptions.get(pattern, "")
    assumptions = [assumption] if assumption else []
    if topology.wafer:
        assumptions.append(_WAFERS[pattern])
    return Schedule(pattern, name, tuple(parts), tuple(builder.messages), tuple(assumptions))
