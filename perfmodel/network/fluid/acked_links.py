"""Links shared by several sources, so that their unicasts are acknowledged packet by packet.

An endpoint answers for ``ack_interval`` packets of a flow at once, or when none has come for
``quiet_cycles``. Packets of sources that share a link take turns on it, so each of a flow comes
behind those of all others. Where these take as long as that, every packet is answered for, and the
link carries an ack for it the other way.
"""

from collections.abc import Sequence

from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.switch_timing.endpoint import SAME_RATE
from perfmodel.topology.graph import Topology

__all__ = ["acked_capacities"]


def acked_capacities(
    topology: Topology, messages: Sequence[Transfer | RingPass]
) -> tuple[float, ...]:
    """Return the capacities of links [B/s] for a schedule, and of nodes, in the topology's order.

    A link faster than an NPU's is as many of these, over which sources are shared out.

    Parameters
    ----------
    topology : Topology
        Topology on which the messages run.
    messages : sequence of Transfer or RingPass
        All messages of a schedule.
    """
    timing, capacities = topology.endpoint, list(topology.capacities)
    if timing is None or not topology.waits_for_acks:
        return topology.capacities
    shared: dict[int, set[int]] = {}
    for one in messages:
        if not one.joins:
            for (source,), _, hops in one.sends():
                for link, _ in hops:
                    shared.setdefault(link, set()).add(source)
    protocol = timing.record.spec.protocol
    packet = protocol.packet_flits
    # Bytes of a link's flits that are data, of which one in so many is an ack now.
    bits = timing.efficiency / timing.record.endpoint.flits_per_cycle * packet / (packet + 1)
    for number, sources in shared.items():
        link = topology.links[number]
        # Pauses are cycles of endpoints, whatever their own links carry of that.
        ports = link.bytes_per_s / timing.load_bytes_per_s
        others = len(sources) / max(1.0, ports) - 1
        if others * packet / min(1.0, ports) >= protocol.quiet_cycles * (1 - SAME_RATE):
            capacities[number] = min(capacities[number], bits * link.bytes_per_s)
    return tuple(capacities)
