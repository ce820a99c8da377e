"""Collectives of groups that span several wafers, over all I/O controllers at once.

The data is added up inside each wafer towards the I/O controllers, exchanged between controllers of
equal number, and distributed inside (FRED, arXiv 2406.19580, section on more than one wafer).
"""

from collections.abc import Collection, Sequence
from functools import partial

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED, Algorithm
from perfmodel.collectives.bounds import free
from perfmodel.collectives.controllers import Route, Shards, collect, distribute, shares_of
from perfmodel.collectives.schedule import REDUCTIONS, ROOTED, ScheduleBuilder
from perfmodel.topology.graph import Part, Topology

from .ring import all_gather_ring, reduce_scatter_ring

__all__ = ["across_wafers", "from_one_wafer"]


def across_wafers(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add an all-reduce, a reduce-scatter or an all-gather; controllers have equal shares.

    Between wafers, FRED switches reduce and multicast; controllers that are linked each with each
    other send to each other; other controllers form a ring, in both directions where links form
    one.

    Parameters
    ----------
    builder : ScheduleBuilder
        Receives the messages.
    members : sequence of int
        NPUs of the group, on two wafers or more.
    chunk_bytes : float
        Size of the whole vector [B].
    pattern : str
        One of ``SCATTERED``.
    """
    # The wafer with most members first: passes around a ring go by the shards of the first.
    parts = sorted(builder.topology.parts(members), key=lambda part: -len(part.npus))
    both = builder.topology.between == "ring" and len(parts) > 2
    first, directions = builder.lane, (False, True) if both else (False,)
    for lane, back in enumerate(directions):
        builder.lane = first + lane
        order = [parts[0], *reversed(parts[1:])] if back else parts
        _around(builder, order, chunk_bytes / len(directions), pattern)
    builder.lane = first


def _around(
    builder: ScheduleBuilder, parts: Sequence[Part], size_bytes: float, pattern: str
) -> None:
    """Add it with the wafers in the order of a ring."""
    adds, forks = _trees(builder.topology)
    shares = [shares_of(builder.topology, part, trees=adds and forks) for part in parts]
    shards = [_shards(builder, parts, share * size_bytes, pattern) for share in shares[0].values()]
    ios = parts[0].io_nodes
    # Shards by controller, then by the wafer that has them between the two steps.
    carried = [
        [
            [some[i] for route, some in zip(shares[0], shards, strict=True) if route.io == io]
            for i in range(len(parts))
        ]
        for io in ios
    ]
    whole = [tuple(one for own in some for one in own) for some in shards]
    for i, (part, own) in enumerate(zip(parts, shares, strict=True)):
        if pattern == "all_gather":
            for io, some in zip(part.io_nodes, carried, strict=True):
                for npu, held in zip(part.npus, zip(*some[i], strict=True), strict=True):
                    hops = builder.topology.reduction_hops((npu,), io)
                    builder.send((npu,), (io,), held, "copy", hops, feeds_pass=True)
        else:
            collect(builder, part.npus, _by_route(own, whole, trees=adds))
    for lane, some in enumerate(carried):
        held = [tuple(one for ends in own for one in ends) for own in some]
        _between(builder, [part.io_nodes[lane] for part in parts], held, pattern)
    for i, (part, own) in enumerate(zip(parts, shares, strict=True)):
        if pattern == "reduce_scatter":
            for io, some in zip(part.io_nodes, carried, strict=True):
                for npu, held in zip(part.npus, zip(*some[i], strict=True), strict=True):
                    builder.send((io,), (npu,), held, "copy")
        else:
            distribute(builder, part.npus, _by_route(own, whole, trees=forks))


def _shards(
    builder: ScheduleBuilder, parts: Sequence[Part], route_bytes: float, pattern: str
) -> list[tuple[int, ...]]:
    """Return new shards of a route by wafer: one, or one for each member where members own them.

    An all-reduce inside FRED switches between wafers leaves no shard at any wafer: one is enough.
    """
    if pattern == "all_reduce" and builder.topology.between == "fred":
        return [(builder.add_shard(parts[0].npus[0], route_bytes),), *([()] * (len(parts) - 1))]
    if pattern == "all_reduce":
        return [(builder.add_shard(part.npus[0], route_bytes / len(parts)),) for part in parts]
    count = sum(len(part.npus) for part in parts)
    return [tuple(builder.add_shard(npu, route_bytes / count) for npu in one.npus) for one in parts]


def _by_route(
    routes: Collection[Route], shards: Sequence[tuple[int, ...]], *, trees: bool
) -> Shards:
    """Return the shards on each route, with trees all those of a controller together."""
    found: dict[Route, tuple[int, ...]] = {}
    for route, some in zip(routes, shards, strict=True):
        key = Route(route.io, None) if trees else route
        found[key] = (*found.get(key, ()), *some)
    return found


def _between(
    builder: ScheduleBuilder, ios: Sequence[int], carried: Sequence[tuple[int, ...]], pattern: str
) -> None:
    """Add the exchange between controllers of equal number, each with its wafer's shards."""
    join = builder.topology.between
    if join == "fred" and pattern == "all_reduce":
        every = [shard for shards in carried for shard in shards]
        builder.send(ios, ios, every, "copy", feeds_pass=True)
        return
    steps = ("reduce_scatter", "all_gather") if pattern == "all_reduce" else (pattern,)
    for step in steps:
        scatters = step == "reduce_scatter"
        if join == "fred":
            for io, shards in zip(ios, carried, strict=True):
                others = [one for one in ios if one != io]
                ends = (ios, (io,)) if scatters else ((io,), others)
                builder.send(*ends, shards, "copy", feeds_pass=True)
        elif join == "fully_connected":
            builder.exchange_all(ios, carried, "reduce" if scatters else "copy")
        else:
            (reduce_scatter_ring if scatters else all_gather_ring)(builder, ios, carried)


def from_one_wafer(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add a broadcast from the first member, or a reduce to it; controllers have equal shares.

    Parameters
    ----------
    builder : ScheduleBuilder
        Receives the messages.
    members : sequence of int
        NPUs of the group, on two wafers or more; the root first.
    chunk_bytes : float
        Size of the whole vector [B].
    pattern : str
        ``broadcast`` or ``reduce``.
    """
    topology = builder.topology
    home, *far = topology.parts(members)
    root, near = home.npus[0], home.npus[1:]
    adds, forks = _trees(topology)
    shares = [shares_of(topology, part, trees=adds and forks) for part in far]
    shards = [(builder.add_shard(root, share * chunk_bytes),) for share in shares[0].values()]
    every = [one for some in shards for one in some]
    placed = topology.on_wafer(home.npus)
    inside = placed.topology.in_network if pattern == "reduce" else forks
    local = [near] if near and inside else [(one,) for one in near]
    joined = topology.between == "fred"
    if pattern == "reduce":
        for part, own in zip(far, shares, strict=True):
            collect(builder, part.npus, _by_route(own, shards, trees=adds))
    for lane, io in enumerate(home.io_nodes):
        own = zip(shares[0], shards, strict=True)
        some = [one for route, held in own for one in held if route.io == far[0].io_nodes[lane]]
        ends = [part.io_nodes[lane] for part in far]
        beyond = [ends] if joined else [[end] for end in ends]
        if pattern == "broadcast":
            hops = topology.reduction_hops((root,), io)
            builder.send((root,), (io,), some, "copy", hops)
            for targets in beyond:
                builder.send((io,), targets, some, "copy", feeds_pass=True)
        else:
            for sources in beyond:
                builder.send(sources, (io,), some, "reduce")
            builder.send((io,), (root,), some, "reduce")
    for npus in local:
        ends = ((root,), npus) if pattern == "broadcast" else (npus, (root,))
        builder.send(*ends, every, "copy" if pattern == "broadcast" else "reduce")
    if pattern == "broadcast":
        for part, own in zip(far, shares, strict=True):
            distribute(builder, part.npus, _by_route(own, shards, trees=forks))


def _trees(topology: Topology) -> tuple[bool, bool]:
    """Return whether messages are added up, and whether they fork, on their route on a wafer."""
    assert topology.wafer is not None  # groups span wafers here
    return topology.adds, bool(topology.wafer.multicast)


def _spans(topology: Topology, group: Sequence[int], *, rooted: bool = False) -> bool:
    """Return whether a group spans wafers, with members at equal places if rings need this."""
    parts = topology.parts(group)
    if len(parts) < 2:
        return False
    placed = (topology.on_wafer(part.npus) for part in parts[int(rooted) :])
    return all(_trees(topology)) or len({one.members for one in placed}) == 1


def _assumed(topology: Topology, pattern: str) -> tuple[str, ...]:
    """Return the assumptions about trees on a wafer, where a pattern uses trees."""
    adds, forks = _trees(topology)
    streams = topology.stream_assumptions
    found: list[str] = []
    if adds and pattern in REDUCTIONS:
        found.append(streams.get("stream_out", ""))
    if forks and pattern not in ("reduce_scatter", "reduce"):
        found += (*topology.fork_assumptions, streams.get("stream_in", ""))
    return tuple(filter(None, found))


def _words(topology: Topology, _pattern: str) -> str:
    return f"over all I/O controllers of each wafer, {_JOINED[topology.between]}"


_JOINED = {
    "switch": "through switches between wafers",
    "fred": "through FRED switches between wafers",
    "ring": "around a ring of wafers",
    "fully_connected": "each with each other wafer",
}

_NEEDS = "NPUs on several wafers, at equal places unless the wafers' switches reduce and multicast"

ALGORITHMS.add(
    "across_wafers",
    Algorithm(
        _words,
        across_wafers,
        SCATTERED,
        needs=_NEEDS,
        fits=_spans,
        preference=dict.fromkeys(SCATTERED, 6),
        least_s=free,
        assumptions=_assumed,
    ),
    rank=9.5,
)
ALGORITHMS.add(
    "from_one_wafer",
    Algorithm(
        _words,
        from_one_wafer,
        ROOTED,
        needs=_NEEDS,
        fits=partial(_spans, rooted=True),
        preference=dict.fromkeys(ROOTED, 6),
        least_s=free,
        assumptions=_assumed,
    ),
    rank=9.6,
)
