"""Replay memory of endpoints in a fabric, and the amount that full rate needs.

A packet is kept until its ack has come: over the longest path of a fabric, through all of its
switches or routers, and back. An ack is taken to cross them in the time of a lone packet. By what
was measured (docs/reference/endpoint.md) a round trip is 3 % longer in two levels of switches,
where acks of several members are served one by one, and 4 % shorter in a mesh, where what follows
on its path crosses a router sooner.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from fred_hw.datapath.network import network_latency_cycles
from fred_hw.endpoint.flow_sender import replay_packets
from fred_hw.mesh.router import HOP_CYCLES
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec

__all__ = ["LongestPath", "longest_in_mesh", "longest_in_plane", "replay", "replay_on_path"]


@dataclass(frozen=True, slots=True)
class LongestPath:
    """The longest route between endpoints.

    Parameters
    ----------
    links, units : int
        Links that a packet crosses, including those of both endpoints, and switches or routers.
    unit_cycles : int
        Latency of all of these units together [cycles].
    """

    links: int
    units: int
    unit_cycles: int

    def round_trip_cycles(self, link_cycles: int) -> int:
        """Return the round trip of a packet and its ack [cycles].

        Parameters
        ----------
        link_cycles : int
            Round trip of a link [cycles]: ``round_trip_cycles`` of the protocol.
        """
        return self.links * link_cycles + 2 * self.unit_cycles


def longest_in_plane(wafer: WaferSpec) -> LongestPath:
    """Return the longest route: up to the lowest switch above all endpoints, and down.

    Phases of all NPUs are reduced and copied there, so no flow of a strategy goes farther.
    """
    plane = Plane(wafer)
    switches = [plane.units[chiplet].switch for chiplet, _ in plane.homes]
    chains = [plane.chain(switch) for switch in switches]
    top = next(one for one in chains[0] if all(one in chain for chain in chains))
    paths = [chain[: chain.index(top)] for chain in chains]  # leaves out the common switch
    up, down = (_longest(wafer, part) for part in (paths[: wafer.endpoints], paths))
    cycles = sum(_cycles(wafer.chiplet(one)) for one in (*up, top, *down))
    return LongestPath(len(up) + len(down) + 2, len(up) + len(down) + 1, cycles)


def _longest(wafer: WaferSpec, paths: Iterable[list[int]]) -> list[int]:
    """Return the route with the longest latency, given its links and switches."""
    trip = wafer.protocol.round_trip_cycles
    return max(
        paths, key=lambda path: sum(trip + 2 * _cycles(wafer.chiplet(switch)) for switch in path)
    )


def _cycles(spec: SwitchSpec) -> int:
    """Return the latency of a lone flit through a switch [cycles]."""
    return network_latency_cycles(spec) + ADDED_CYCLES


def longest_in_mesh(mesh: MeshSpec) -> LongestPath:
    """Return the longest route between NPUs."""
    pairs = product(range(mesh.plan.npus), repeat=2)
    routers = max(len(mesh.plan.route(*pair)) - 1 for pair in pairs)
    return LongestPath(routers + 1, routers, routers * HOP_CYCLES)


def replay(spec: SwitchSpec, needed: int) -> dict[str, Any]:
    """Return the manifest entry on an endpoint's replay packets, as JSON values.

    Parameters
    ----------
    spec : SwitchSpec
        Specification of the endpoint.
    needed : int
        Packets needed for full rate.
    """
    kept, packet = replay_packets(spec), spec.protocol.packet_flits * spec.data_width // 8
    return {
        "packets": kept,
        "packets_for_full_rate": needed,
        "bytes": len(spec.protocol.buffers) * kept * packet,
    }


def replay_on_path(spec: SwitchSpec, path: LongestPath) -> dict[str, Any]:
    """Return the manifest entry on replay packets in a fabric, as JSON values.

    ``bound`` is the key of the limit that keeps the longest route below full rate: the window,
    which no endpoint exceeds, or else the memory of endpoints; None if neither does.

    Parameters
    ----------
    spec : SwitchSpec
        Specification of the endpoints.
    path : LongestPath
        Longest route of the fabric.
    """
    protocol = spec.protocol
    trip = path.round_trip_cycles(protocol.round_trip_cycles)
    needed = protocol.replay_for(trip)
    bound = None
    if needed > protocol.window_packets:
        bound = "protocol.window_packets"
    elif needed > replay_packets(spec):
        bound = "endpoint.replay_packets"
    said = {"links": path.links, "units": path.units, "round_trip_cycles": trip}
    return {
        **replay(spec, needed),
        "window_packets": protocol.window_packets,
        "longest_path": said,
        "bound": bound,
    }
