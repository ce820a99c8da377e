"""Time of an in-network collective whose groups share links and take several rounds.

A group begins when all its members have been told, by a flit, that those before it on the same
switch are over, and at the end one goes from the last group to the others (docs/decisions/0057).
How long that takes is in records of switches and endpoints.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from perfmodel.collectives.select import build_schedule
from perfmodel.network.run import run_collectives
from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.topology.graph import Topology

__all__ = ["Told", "rounds_s"]


class Told(NamedTuple):
    """A flit that carries round tokens.

    Parameters
    ----------
    sources, targets : tuple of int
        Nodes that send it, joined on the way, and nodes that wait for it.
    """

    sources: tuple[int, ...]
    targets: tuple[int, ...]


class _Group(NamedTuple):
    """Times at which a group has all its data, and its members know that all others do [s]."""

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
    """Return the time of a collective in rounds, until all NPUs have read completion [s].

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
        Round tokens between two rounds, and after the last round. A node sends several tokens in
        this order, each when the previous one is acknowledged.

    Raises
    ------
    ValueError
        The topology has no endpoints, or a group is told by one that comes after it.
    """
    timing = topology.endpoint
    if timing is None:
        raise ValueError("topology must have the record of endpoints for rounds, not none")
    found: list[_Group] = []

    def told_s(one: Told, number: int) -> float:
        """Return when a round token has arrived."""
        ready = [g.acked_s for end in one.sources for g in found if end in g.members]
        for place, other in enumerate(turns[:number]):
            if {*other.sources} & {*one.sources}:
                back_s = topology.latency_s(topology.hops(other.sources, other.targets))
                ready.append(turn_s(place) + back_s + timing.ack_s)
        return max(ready) + timing.next_s + _flit_s(topology, timing, one)

    @cache
    def turn_s(number: int) -> float:
        return told_s(turns[number], number)

    for group in groups:
        before = [k for k, one in enumerate(turns) if {*one.targets} & {*group}]
        told = [turn_s(k) for k in before if not {*turns[k].sources} & {*group}]
        # Behind what tells, the descriptor is one behind another that has received something.
        begin_s = max(told) + timing.received_s if told else timing.start_s
        found.append(_group(topology, timing, pattern, size_bytes, group, begin_s))
    last_s = max([*(one.over_s for one in found), *(told_s(one, 0) for one in ends)])
    return last_s + timing.finish_s


def _group(
    topology: Topology,
    timing: EndpointTiming,
    pattern: str,
    size_bytes: float,
    group: Sequence[int],
    begin_s: float,
) -> _Group:
    """Return the end times of a group that starts to load at a given time."""
    alone_s = run_collectives(
        topology, pattern, size_bytes, [group], algorithm="published", network_model="packet"
    ).time_s
    over_s = begin_s + alone_s - timing.start_s - timing.finish_s
    (flow,) = build_schedule(topology, pattern, [group], size_bytes).messages
    back_s = max(topology.latency_s(hops) for _, _, hops in flow.sends())
    return _Group(frozenset(group), over_s, over_s + back_s + timing.acked_s(size_bytes))


def _flit_s(topology: Topology, timing: EndpointTiming, one: Told) -> float:
    """Return the time to load a flit and deliver it to all its targets [s].

    A packet leaves when all of it has been read, and the records are of whole ones: one of a flit
    does so earlier (``EndpointTiming.step_s``).
    """
    less = timing.record.spec.protocol.packet_flits - 1
    hops = topology.hops(one.sources, one.targets)
    rate = min(topology.links[link].payload_bytes_per_s for link, _ in hops)
    return (1 - less) * timing.cycle_s + topology.latency_s(hops) + timing.flit_bytes / rate
