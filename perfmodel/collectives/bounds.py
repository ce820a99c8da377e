"""Lower bounds of collective times, by which ``auto`` skips slow algorithms."""

from collections.abc import Iterable, Sequence

from perfmodel.topology.graph import Topology

__all__ = ["free", "sent_s", "volume_s"]


def volume_s(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], size_bytes: float
) -> float:
    """Return the least time of a collective of which NPUs send every copy [s].

    In a group of N members each of N - 1 contributions is sent at least once, and in an all-reduce
    the result to N - 1 members too. All members together have their links for this.

    Parameters
    ----------
    topology : Topology
        Where it runs.
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


def free(_topology: Topology, _pattern: str, _groups: object, _size_bytes: float) -> float:
    """Return no time: of collectives in which switches join or fork what NPUs send."""
    return 0.0


def sent_s(topology: Topology, source: int, messages: Iterable[tuple[int, float]]) -> float:
    """Return how long the busiest of the links is busy over which an NPU sends messages [s].

    Parameters
    ----------
    topology : Topology
        Where it is.
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
