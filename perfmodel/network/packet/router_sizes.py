"""Sizes and latencies of routers, switches and links [cycles]."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from perfmodel.clock import ROUNDING_CYCLES
from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.topology.graph import Topology

__all__ = ["Sizes", "router_sizes"]

_AROUND_FLITS = 6
"""Flits buffered around the queue of a switch output (``OutputPort.depth``)."""
_MESSAGE_CYCLES = 5
"""Cycles of a unicast's ack through a switch, past the interconnect: 1 in the ``Deframer``, 3 in
the ``Acknowledger`` and 1 in the ``Sender``, as each one's docstring states."""


class Sizes(NamedTuple):
    """Sizes and latencies of routers and links.

    Parameters
    ----------
    circuits : int
        Circuits in use, 0 the most urgent.
    packet_flits, buffer_flits : int
        Flits of the largest packet, and of a queue.
    hop_cycles, follow_cycles, message_cycles, link_cycles : float
        Time from the first flit of a packet on a link to the same flit on the next link; the same
        for a packet that follows another one on the same path, and for an ack; and the latency of a
        link.
    credit_cycles : float
        Time from the last flit leaving a queue until its sender has the credits.
    paces : mapping of int to float
        Cycles from flit to flit, of links on which this is more than one cycle.
    inside_flits : float
        Flits on a path through a switch, for which an output has additional space.
    short_again : bool
        Whether the next packet of a queue follows a packet of one flit directly, without
        arbitration.
    ports : mapping of int to int
        Ports that links end at, in whose order queues take turns; their own numbers where it is
        not known.
    """

    circuits: int
    packet_flits: int
    buffer_flits: int
    hop_cycles: float
    follow_cycles: float
    message_cycles: float
    link_cycles: float
    credit_cycles: float
    paces: Mapping[int, float] = MappingProxyType({})
    inside_flits: float = 0.0
    short_again: bool = False
    ports: Mapping[int, int] = MappingProxyType({})


def router_sizes(topology: Topology, timing: EndpointTiming, circuits: int) -> Sizes:
    """Return the sizes of a topology's routers or switches, and links, with endpoints.

    In a switch a queue has space again when what leaves it is behind the interconnect, and a path
    is given to somebody else two cycles after a packet has started (``Matching``): one of a flit is
    over by then, and the next one of its queue is on the path.
    """
    hz, protocol = timing.clock.hz, timing.record.spec.protocol
    link = next(one for one in topology.links if one.source == 0)
    node = topology.nodes[link.target]
    link_cycles, node_cycles = link.latency_s * hz, node.latency_s * hz
    hop_cycles = link_cycles + node_cycles
    message_cycles = topology.message_cycles
    trip = 2 * link_cycles + timing.record.endpoint.credit_cycles + topology.inside_cycles
    paces = {n: link.bytes_per_s / one.bytes_per_s for n, one in enumerate(topology.links)}
    return Sizes(
        circuits=circuits,
        packet_flits=protocol.packet_flits,
        buffer_flits=protocol.buffer_flits,
        hop_cycles=hop_cycles,
        follow_cycles=hop_cycles - topology.sooner_cycles - node.sooner_s * hz,
        message_cycles=_MESSAGE_CYCLES if message_cycles is None else message_cycles,
        link_cycles=link_cycles,
        credit_cycles=max(0.0, trip - hop_cycles - protocol.packet_flits),
        paces={number: pace for number, pace in paces.items() if pace > 1 + ROUNDING_CYCLES},
        inside_flits=topology.inside_cycles + _AROUND_FLITS if topology.inside_cycles else 0,
        short_again=topology.inside_cycles > 0,
        ports={number: topology.port_of(number) for number in range(len(topology.links))},
    )
