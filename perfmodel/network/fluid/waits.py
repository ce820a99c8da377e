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
    """Return how long the source that waits longest for acks of earlier destinations waits [s].

    A source goes on to another phase of its circuit, or to another destination, only when all
    that it has sent is acknowledged: a way there, which the head of the next burst takes too, and
    a way back. It sends all of its data of a phase in one burst. Each wait is as long as the
    longest route of this source.

    Parameters
    ----------
    topology : Topology
        Topology on which the messages run.
    messages : iterable of Transfer or RingPass
        Messages of a collective.
    more : int
        Changes of destination in addition to those inside the collective.
    latency_s : callable or None
        Returns the latency of a route [s]; by default ``topology.latency_s``.
    """
    latency_s = latency_s or topology.latency_s
    if not topology.waits_for_acks:
        return 0.0
    # By those who send together; who sends alone may do so in several sets.
    ends: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    longest_s: dict[tuple[int, ...], float] = {}
    for item in messages:
        for sources, targets, hops in item.sends():
            ends.setdefault(sources, set()).add(targets)
            longest_s[sources] = max(longest_s.get(sources, 0.0), latency_s(hops))
    flows: dict[int, int] = {}
    farthest_s: dict[int, float] = {}
    for sources, targets in ends.items():
        for source in sources:
            flows[source] = flows.get(source, 0) + len(targets)
            farthest_s[source] = max(farthest_s.get(source, 0.0), longest_s[sources])
    waits = ((count - 1 + more) * 2 * farthest_s[source] for source, count in flows.items())
    return max(waits, default=0.0)


def ack_s(
    topology: Topology,
    messages: Iterable[Transfer | RingPass],
    latency_s: Callable[[Hops], float] | None = None,
) -> float:
    """Return the time until the sources have received the acks of messages [s]."""
    if not topology.waits_for_acks:
        return 0.0
    routes = (hops for item in messages for _, _, hops in item.sends())
    return max(map(latency_s or topology.latency_s, routes), default=0.0)
