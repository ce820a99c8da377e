"""Lower bounds of collective times, with which ``auto`` skips slow algorithms."""

from collections.abc import Iterable, Sequence
from typing import Any

from perfmodel.topology.graph import Topology

__all__ = [
    "any_s",
    "free",
    "latency_s",
    "scattered_s",
    "sent_s",
    "shares",
    "volume_s",
    "waits_s",
]

_FARTHEST = 4
"""Largest number of members whose routes from the first member are examined."""


def volume_s(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], size_bytes: float
) -> float:
    """Return the least time of a collective in which NPUs send every copy themselves [s].

    In a group of N members each of N - 1 contributions is sent at least once, and in an all-reduce
    the result to N - 1 members too. All members together have their links for this.

    Parameters
    ----------
    topology : Topology
        Topology on which the collective runs.
    pattern : str
        One of ``schedule.PATTERNS``.
    groups : sequence of sequence of int
        NPUs of each group.
    size_bytes : float
        The whole vector of each group [B].
    """
    times = 2 if pattern == "all_reduce" else 1
    rates = topology.sent_bytes_per_s
    return max(
        times * (len(group) - 1) * size_bytes / sum(rates[npu] for npu in group) for group in groups
    )


def scattered_s(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], size_bytes: float
) -> float:
    """Return the least time if an all-reduce is a reduce-scatter and an all-gather [s].

    The data of each member then go to the member that is farthest away and come back.

    Parameters
    ----------
    topology, pattern, groups, size_bytes
        As for :func:`volume_s`.
    """
    longest_s = volume_s(topology, pattern, groups, size_bytes)
    if pattern == "all_reduce":
        return max(longest_s, 2 * latency_s(topology, pattern, groups))
    return longest_s


def waits_s(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], destinations: int
) -> float:
    """Return the least time of NPUs that send to several destinations in succession [s].

    If the link layer requires it, a source waits for acks before it sends to the next destination.

    Parameters
    ----------
    topology, pattern, groups
        As for :func:`volume_s`.
    destinations : int
        Destinations of each member.
    """
    if not topology.waits_for_acks or topology.endpoint is not None:
        return 0.0
    return (destinations - 1) * 2 * latency_s(topology, pattern, groups)


def any_s(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], size_bytes: float
) -> float:
    """Return the least time of a collective by any algorithm, including in-network ones [s].

    The data that each member must send leaves it, and the data that it must get arrives.

    Parameters
    ----------
    topology, pattern, groups, size_bytes
        As for :func:`volume_s`.
    """
    sent, received = topology.sent_bytes_per_s, topology.received_bytes_per_s
    longest_s = latency_s(topology, pattern, groups)
    for group in groups:
        root, others = shares(pattern, 1 / len(group))
        for npu in group:
            leaves, comes = root if npu == group[0] else others
            own_s = max(leaves / sent[npu], comes / received[npu])
            longest_s = max(longest_s, own_s * size_bytes)
    return longest_s


def shares(pattern: str, one: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return the least data that a member of a collective sends and receives.

    The data follow from the definition of the pattern: a member sends what only it has and others
    need, and receives what it needs and does not have.

    Parameters
    ----------
    pattern : str
        One of ``schedule.PATTERNS``.
    one : float or array
        Part of the vector that belongs to one member: 1 over the size of the group.

    Returns
    -------
    tuple
        For the first member, which is the root, and for each other member: the pair of data sent
        and received, as parts of the whole vector (1 is all of it); arrays if ``one`` is.
    """
    return {
        "all_reduce": ((1.0, 1.0), (1.0, 1.0)),
        "reduce_scatter": ((1 - one, one), (1 - one, one)),
        "all_gather": ((one, 1 - one), (one, 1 - one)),
        "all_to_all": ((1 - one, 1 - one), (1 - one, 1 - one)),
        "broadcast": ((1.0, 0.0), (0.0, 1.0)),
        "reduce": ((0.0, 1.0), (1.0, 0.0)),
    }[pattern]


def latency_s(topology: Topology, pattern: str, groups: Sequence[Sequence[int]]) -> float:
    """Return the least latency of any collective of a pattern [s].

    Each member needs data of each other, or the others those of the first, or it theirs. Routes
    are those of least latency, whatever NPUs pass on.

    Parameters
    ----------
    topology, pattern, groups
        As for :func:`volume_s`.
    """
    longest_s = 0.0
    for group in groups:
        first, others = group[:1], group[1:]
        some = {*others[:: max(1, len(others) // _FARTHEST)], others[-1]}
        for one in sorted(some):
            ends = ([one], first) if pattern == "reduce" else (first, [one])
            longest_s = max(longest_s, topology.latency_s(topology.hops(*ends)))
    return longest_s


def free(_topology: Topology, _pattern: str, _groups: object, _size_bytes: float) -> float:
    """Return a bound of 0, for collectives in which switches join or copy messages [s]."""
    return 0.0


def sent_s(topology: Topology, source: int, messages: Iterable[tuple[int, float]]) -> float:
    """Return the busy time of the busiest first link over which an NPU sends messages [s].

    Parameters
    ----------
    topology : Topology
        Topology of the NPU.
    source : int
        The NPU.
    messages : iterable of (int, float)
        Target and bytes of each.
    """
    busy: dict[int, float] = {}
    for target, count in messages:
        link = topology.hops((source,), (target,))[0][0]
        busy[link] = busy.get(link, 0.0) + count / topology.capacities[link]
    return max(busy.values(), default=0.0)
