"""Latencies of routes, each computed once."""

from collections.abc import Callable

from perfmodel.topology.graph import Hops, Topology

__all__ = ["latency_of"]


def latency_of(topology: Topology, *, urgent: bool = False) -> Callable[[Hops], float]:
    """Return a function that computes and caches the latencies of routes [s].

    Routes are the same objects wherever they are used, and larger than their addresses. Whoever
    calls the function keeps the routes.

    Parameters
    ----------
    topology : Topology
        Topology of the routes.
    urgent : bool
        See ``Topology.latency_s``.
    """
    known: dict[int, float] = {}

    def latency_s(hops: Hops) -> float:
        if id(hops) not in known:
            known[id(hops)] = topology.latency_s(hops, urgent=urgent)
        return known[id(hops)]

    return latency_s
