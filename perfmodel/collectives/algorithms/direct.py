"""Direct collectives: every member sends to every other member at the same time."""

from collections.abc import Sequence

from perfmodel.collectives.algorithm import ALGORITHMS, Algorithm
from perfmodel.collectives.bounds import scattered_s, waits_s
from perfmodel.collectives.schedule import ROOTED, ScheduleBuilder
from perfmodel.topology.graph import Topology

__all__ = ["direct", "least_s"]

_LARGEST = 256  # members; more would need too many messages, one for each pair
_QUICK = 64  # members; takes a second at most


def direct(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add any collective; in a broadcast or a reduce the first member is the root.

    An all-reduce is a reduce-scatter, in which each member gets its shard from all others, and an
    all-gather.
    """
    if pattern in ROOTED:
        shard = builder.add_shard(members[0], chunk_bytes)
        for other in members[1:]:
            if pattern == "broadcast":
                builder.send(members[:1], (other,), (shard,), "copy")
            else:
                builder.send((other,), members[:1], (shard,), "reduce")
        return
    share, count = chunk_bytes / len(members), len(members)
    # Member i starts with its neighbour, so that senders do not all choose the same receiver.
    pairs = [
        (members[i], members[(i + away) % count]) for away in range(1, count) for i in range(count)
    ]
    if pattern == "all_to_all":
        for source, target in pairs:
            builder.send((source,), (target,), (builder.add_shard(source, share, target),), "copy")
        return
    shard_of = {member: builder.add_shard(member, share) for member in members}
    if pattern != "all_gather":
        for source, target in pairs:
            builder.send((source,), (target,), (shard_of[target],), "reduce")
    if pattern == "all_reduce":
        for member, shard in shard_of.items():
            builder.join(member, shard)
    if pattern != "reduce_scatter":
        for source, target in pairs:
            builder.send((source,), (target,), (shard_of[source],), "copy")


def least_s(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], size_bytes: float
) -> float:
    """Return a lower bound of the time over any routes [s].

    It is the time of the traffic of all messages, each over the fewest possible links, if it loads
    all links equally. Groups that are quick to simulate have no bound by routes.

    Parameters
    ----------
    topology : Topology
        Topology of the collective.
    pattern : str
        One of ``schedule.PATTERNS``.
    groups : sequence of sequence of int
        NPUs of each group.
    size_bytes : float
        The whole vector of each group [B].
    """
    destinations = 1 if pattern == "reduce" else max(map(len, groups)) - 1
    longest_s = max(
        scattered_s(topology, pattern, groups, size_bytes),
        waits_s(topology, pattern, groups, destinations),
    )
    if all(len(group) <= _QUICK for group in groups):
        return longest_s
    carried = 0.0
    for group in groups:
        count = len(group)
        sources, targets = {
            "broadcast": (group[:1], group),
            "reduce": (group, group[:1]),
        }.get(pattern, (group, group))
        hops = sum(map(sum, topology.distances(sources, targets)))
        shares = {"broadcast": 1.0, "reduce": 1.0, "all_reduce": 2 / count}
        carried += shares.get(pattern, 1 / count) * size_bytes * hops
    return max(longest_s, carried / sum(topology.capacities[: len(topology.links)]))


ALGORITHMS.add(
    "direct",
    Algorithm(
        "direct",
        direct,
        needs=f"at most {_LARGEST} NPUs, as each sends to every other",
        fits=lambda _, group: len(group) <= _LARGEST,
        preference={"all_to_all": 5},
        least_s=least_s,
    ),
    rank=3,
)
