"""Time that sources wait for acks when they change their destination."""

from collections.abc import Callable, Iterable

from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.topology.graph import Hops, Topology

__all__ = ["ack_s", "waits_s"]


def waits_s(
    topology: Topology,
    messages: Iterable[Transfer | RingPass],
    more: int = 0,
    latency_s: Callable[[Hops], float] | None = None,
) -> float:
    """Return the time that the source with the most destination changes waits for acks [s].

    A source goes on to another phase of its circuit, or to another destination, only when all
    that it has sent is acknowledged: a way there, which the head of the next burst takes too, and
    a way back. It sends all of its data of a phase in one burst.

    Parameters
    ----------
    topology : Topology
        Where the messages run.
    messages : iterable of Transfer or RingPass
        Those of a collective.
    more : int
        Changes beside those inside the collective.
    latency_s : callable or None
        Returns the latency of a route [s]; that of the topology if None.
    """
    latency_s = latency_s or topology.latency_s
    if not topology.waits_for_acks:
        return 0.0
    # By those who send together; who sends alone may do so in several sets.
    ends: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    longest_s = 0.0
    for item in messages:
        for sources, targets, hops in item.sends():
            ends.setdefault(sources, set()).add(targets)
            longest_s = max(longest_s, latency_s(hops))
    flows: dict[int, int] = {}
    for sources, targets in ends.items():
        for source in sources:
            flows[source] = flows.get(source, 0) + len(targets)
    changes = max(flows.values(), default=1) - 1 + more
    return changes * 2 * longest_s


def ack_s(
    topology: Topology,
    messages: Iterable[Transfer | RingPass],
    latency_s: Callable[[Hops], float] | None = None,
) -> float:
    """Return the time until the sources have received the acks of messages [s]."""
    if not topology.waits_for_acks:
        return 0.0
    ways = (hops for item in messages for _, _, hops in item.sends())
    return max(map(latency_s or topology.latency_s, ways), default=0.0)
