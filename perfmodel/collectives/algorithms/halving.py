"""Recursive halving and doubling, in a logarithmic number of steps.

Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH",
International Journal of High Performance Computing Applications 19, 2005. Where the group is no
power of two, each member beyond one lends its data to a partner first and gets its result from it
in the end, as described there. The all-to-all is that of Bruck et al., IEEE Transactions on
Parallel and Distributed Systems 8, 1997, which takes any number of members.
"""

from collections.abc import Iterator, Sequence

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED, Algorithm
from perfmodel.collectives.bounds import scattered_s, sent_s
from perfmodel.collectives.schedule import ScheduleBuilder
from perfmodel.topology.graph import Topology

__all__ = ["double", "halve", "halving_doubling", "least_s"]


def halving_doubling(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add any collective over any group.

    A broadcast scatters by halves and gathers by doubling; a reduce is the same in reverse.

    Parameters
    ----------
    builder : ScheduleBuilder
        Takes the transfers.
    members : sequence of int
        NPUs of the group; partners are equally far apart in this order.
    chunk_bytes : float
        The whole vector [B].
    pattern : str
        One of ``schedule.PATTERNS``; a broadcast or a reduce has its root first.
    """
    if pattern == "all_to_all":
        _bruck(builder, members, chunk_bytes / len(members))
        return
    power = 1 << (len(members).bit_length() - 1)
    pairs = list(zip(members, members[power:], strict=False))  # host and guest
    if pattern in ("broadcast", "reduce"):
        _rooted(builder, members[:power], pairs, chunk_bytes, pattern)
        return
    share = chunk_bytes / len(members)
    shard = {member: builder.add_shard(member, share) for member in members}
    everything = list(shard.values())
    core = members[:power]
    guests = dict(pairs)
    owned = [[shard[m], *([shard[guests[m]]] if m in guests else [])] for m in core]
    if pattern != "all_gather":
        builder.exchange(((guest, host, everything) for host, guest in pairs), "reduce")
        halve(builder, core, owned)
    else:
        builder.exchange(((guest, host, [shard[guest]]) for host, guest in pairs), "copy")
    if pattern == "reduce_scatter":
        builder.exchange(((host, guest, [shard[guest]]) for host, guest in pairs), "copy")
        return
    double(builder, core, owned)
    builder.exchange(((host, guest, everything) for host, guest in pairs), "copy")


def _rooted(
    builder: ScheduleBuilder,
    core: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    chunk_bytes: float,
    pattern: str,
) -> None:
    """Add a broadcast from, or a reduce to, the first core member."""
    owned = [[builder.add_shard(core[0], chunk_bytes / len(core))] for _ in core]
    everything = [one for shards in owned for one in shards]
    distances = [1 << step for step in range(len(core).bit_length() - 1)]
    if pattern == "broadcast":
        for distance in reversed(distances):
            halves = _halves(core, owned, distance)
            builder.exchange(((first, second, block) for first, second, block in halves), "copy")
        double(builder, core, owned)
        builder.exchange(((host, guest, everything) for host, guest in pairs), "copy")
        return
    builder.exchange(((guest, host, everything) for host, guest in pairs), "reduce")
    halve(builder, core, owned)
    for distance in distances:
        halves = _halves(core, owned, distance)
        builder.exchange(((second, first, block) for first, second, block in halves), "copy")


def _halves(
    core: Sequence[int], owned: Sequence[Sequence[int]], distance: int
) -> Iterator[tuple[int, int, list[int]]]:
    """Yield the first members of both halves of each block, and the second half's shards."""
    blocks = _blocks(owned, distance)
    for i in range(0, len(core), 2 * distance):
        yield core[i], core[i + distance], blocks[i // distance + 1]


def _bruck(builder: ScheduleBuilder, members: Sequence[int], share: float) -> None:
    """Add an all-to-all by Bruck's algorithm: step k moves shards whose distance has bit k set."""
    count = len(members)
    distances = [1 << bit for bit in range((count - 1).bit_length())]
    if builder.lockstep:
        any_shard = builder.add_shard(members[0], share, members[1])
        carried = [[any_shard] * sum(bool(a & d) for a in range(1, count)) for d in distances]
        for distance, shards in zip(distances, carried, strict=True):
            ends = ((members[i], members[(i + distance) % count]) for i in range(count))
            builder.exchange(((here, there, shards) for here, there in ends), "copy")
        return
    shard = {
        (i, away): builder.add_shard(members[i], share, members[(i + away) % count])
        for i in range(count)
        for away in range(1, count)
    }
    for distance in distances:
        for here in range(count):
            carried = [
                shard[(here - away % distance) % count, away]
                for away in range(1, count)
                if away & distance
            ]
            builder.send((members[here],), (members[(here + distance) % count],), carried, "copy")


def halve(builder: ScheduleBuilder, core: Sequence[int], owned: Sequence[Sequence[int]]) -> None:
    """Reduce ``owned[i]`` at member i by recursive halving; the group size is a power of two."""
    distance = len(core) // 2
    while distance:
        blocks = _blocks(owned, distance)
        builder.exchange(
            (
                (member, core[i ^ distance], blocks[(i ^ distance) // distance])
                for i, member in enumerate(core)
            ),
            "reduce",
        )
        distance //= 2


def double(builder: ScheduleBuilder, core: Sequence[int], owned: Sequence[Sequence[int]]) -> None:
    """Distribute ``owned[i]`` of member i to all by recursive doubling."""
    distance = 1
    while distance < len(core):
        blocks = _blocks(owned, distance)
        builder.exchange(
            ((member, core[i ^ distance], blocks[i // distance]) for i, member in enumerate(core)),
            "copy",
        )
        distance *= 2


def _blocks(owned: Sequence[Sequence[int]], distance: int) -> list[list[int]]:
    """Return the shards of each block of ``distance`` members."""
    return [
        [one for group in owned[first : first + distance] for one in group]
        for first in range(0, len(owned), distance)
    ]


def least_s(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], size_bytes: float
) -> float:
    """Return a lower bound of the time, from the bytes that a group's first member sends [s].

    Parameters
    ----------
    topology, pattern, groups, size_bytes
        As for ``bounds.volume_s``.
    """
    longest_s = scattered_s(topology, pattern, groups, size_bytes)
    if pattern not in SCATTERED:
        return longest_s
    times = 2 if pattern == "all_reduce" else 1
    for group in groups:
        share, steps = times * size_bytes / len(group), len(group).bit_length() - 1
        sent = [(group[1 << step], (1 << step) * share) for step in range(steps)]
        longest_s = max(longest_s, sent_s(topology, group[0], sent))
    return longest_s


ALGORITHMS.add(
    "halving_doubling",
    Algorithm("halving-doubling", halving_doubling, least_s=least_s),
    rank=2,
)
