"""Time of a collective in the network whose groups share links between switches, in rounds.

A group begins when all its members know that those before it on the same switch are over; a flit
inside the switch tells it, and at the end one from the last group to the others
(docs/decisions/0057). All of that is in records of switches and endpoints.
"""

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.topology.graph import Topology

from .run import run_collectives
from .select import build_schedule

__all__ = ["Told", "rounds_s"]


class Told(NamedTuple):
    """A flit that tells of rounds.

    Parameters
    ----------
    sources, targets : tuple of int
        Nodes that send it, joined on the way, and nodes that wait for it.
    """

    sources: tuple[int, ...]
    targets: tuple[int, ...]


class _Group(NamedTuple):
    """When a group has all its data, and when its members know that all others have [s]."""

    members: frozenset[int]
    over_s: float
    acked_s: float


def rounds_s(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    groups: Sequence[Sequence[int]],
    turns: Sequence[Told],
    ends: Sequence[Told],
) -> float:
    """Return the time of a collective in rounds, from its begin until all know of its end [s].

    Parameters
    ----------
    topology : Topology
        Switches with in-network collectives, and endpoints.
    pattern : str
        An all-reduce or a reduce.
    size_bytes : float
        The whole vector of each group [B], above 0.
    groups : sequence of sequence of int
        NPUs of each group, those of earlier rounds first; of a reduce the root first.
    turns, ends : sequence of Told
        Who tells whom between two rounds on a switch, and behind the last one.

    Raises
    ------
    ValueError
        The topology has no endpoints, or a group is told by one that comes after it.
    """
    timing = topology.endpoint
    if timing is None:
        raise ValueError("topology must have the record of endpoints for rounds, not none")
    found: list[_Group] = []

    def told_s(one: Told) -> float:
        """Return when a flit has come."""
        acked = [max(g.acked_s for g in found if end in g.members) for end in one.sources]
        return max(acked) + timing.next_s + _flit_s(topology, timing, one)

    for group in groups:
        before = [one for one in turns if {*one.targets} & {*group}]
        # Behind what tells, the descriptor is one behind another that has received something.
        begin_s = max(map(told_s, before)) + timing.received_s if before else timing.start_s
        found.append(_group(topology, timing, pattern, size_bytes, group, begin_s))
    last_s = max([*(one.over_s for one in found), *map(told_s, ends)])
    return last_s + timing.finish_s


def _group(
    topology: Topology,
    timing: EndpointTiming,
    pattern: str,
    size_bytes: float,
    group: Sequence[int],
    begin_s: float,
) -> _Group:
    """Return when a group is through that begins to load at a time."""
    alone_s = run_collectives(topology, pattern, size_bytes, [group], algorithm="published").time_s
    over_s = begin_s + alone_s - timing.start_s - timing.finish_s
    (flow,) = build_schedule(topology, pattern, [group], size_bytes).messages
    back_s = max(topology.latency_s(hops) for _, _, hops in flow.sends())
    return _Group(frozenset(group), over_s, over_s + back_s + timing.acked_s(size_bytes))


def _flit_s(topology: Topology, timing: EndpointTiming, one: Told) -> float:
    """Return how long a flit takes to be loaded and to come to all that wait for it [s]."""
    hops = topology.hops(one.sources, one.targets)
    rate = min(topology.links[link].payload_bytes_per_s for link, _ in hops)
    return timing.cycle_s + topology.latency_s(hops) + timing.flit_bytes / rate
