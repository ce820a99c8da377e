"""What endpoints add to a collective: their start and end, chunks that are loaded, steps of rings.

An endpoint does one descriptor after the other: a ring is one, and so is all that goes to the same
ends. It begins to send when the first chunk, or the first message of a ring, is loaded, and goes on
to the next descriptor when all of the one before is acknowledged (docs/endpoint.md).
"""

from collections.abc import Sequence

from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.topology.graph import Topology

from .transfer import RingPass, Transfer

__all__ = ["endpoint_s"]


def endpoint_s(
    topology: Topology, messages: Sequence[Transfer | RingPass], size_bytes: float
) -> float:
    """Return how much longer a collective takes at the NPU that has most to do, 0 without record.

    Parameters
    ----------
    topology : Topology
        Where it runs.
    messages : sequence of Transfer or RingPass
        Those of one byte, in an order in which each sender sends.
    size_bytes : float
        The whole vector [B].
    """
    timing = topology.endpoint
    if timing is None:
        return 0.0
    sent: dict[int, list[Transfer | RingPass]] = {}
    for item in messages:
        if isinstance(item, Transfer) and not item.hops:
            continue  # a join sends nothing
        for source in item.sources if isinstance(item, Transfer) else item.members:
            if topology.nodes[source].kind == "npu":
                sent.setdefault(source, []).append(item)
    alike = {tuple(map(id, items)): items for items in sent.values()}
    return max(
        (_sender_s(topology, timing, one, size_bytes) for one in alike.values()), default=0.0
    )


def _sender_s(
    topology: Topology,
    timing: EndpointTiming,
    items: Sequence[Transfer | RingPass],
    size_bytes: float,
) -> float:
    """Return what an endpoint adds to what it sends, one descriptor after the other."""
    total_s, before = timing.finish_s, None
    for item in items:
        sent_bytes = item.payload_bytes * size_bytes
        if isinstance(item, RingPass):
            count = len(item.members)
            ends, start_s = item.members, timing.ring_start_s
            load_s = timing.ring_load_s(count, sent_bytes / (count - 1))
            first = before is None or before[0] != item.members
            total_s += _ring_stall_s(topology, timing, item, sent_bytes, first=first)
        else:
            ends, start_s = item.targets, timing.start_s
            load_s = timing.load_s(sent_bytes)
        if before is None:
            total_s += start_s + load_s
        elif before[0] != ends:
            total_s += before[1] + timing.ack_s + timing.next_s + load_s
        before = (ends, _ack_way_s(topology, item))
    return total_s


def _ack_way_s(topology: Topology, item: Transfer | RingPass) -> float:
    """Return the ways that a sender waits for until it is acknowledged, behind its last flit.

    The way of a ring's last message there is in the time of the ring already.
    """
    if isinstance(item, RingPass):
        return max(topology.latency_s(hops) for hops in item.edges)
    return 2 * topology.latency_s(item.hops)


def _ring_stall_s(
    topology: Topology, timing: EndpointTiming, item: RingPass, sent_bytes: float, *, first: bool
) -> float:
    """Return how much longer a pass takes than its bytes and latencies, which count already.

    It takes less where machines have begun the next pass before the last has ended this one.
    """
    edges_s = [topology.latency_s(hops) for hops in item.edges]
    late_s, steps = sum(edges_s) - min(edges_s), len(item.members) - 1
    link = topology.links[item.edges[0][0][0]]
    count, way_s = len(item.members), sum(edges_s) / len(item.members)
    rate = min(link.payload_bytes_per_s, link.bytes_per_s * timing.ring_efficiency)
    engine_s = timing.ring_s(count, sent_bytes / steps, way_s, rate, first=first)
    return engine_s - sent_bytes / link.payload_bytes_per_s - late_s
