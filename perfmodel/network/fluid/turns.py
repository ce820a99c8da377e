"""Flows that a switch cannot serve at the same time, and their rounds.

The router of the switches says so (``fred_hw.compiler.routing``): flows active at once need
paths through the middle subswitches of FRED_m(P), and where m are too few, some wait for a later
round. Rounds of a switch follow each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route_in_rounds
from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.topology.graph import Topology

__all__ = ["Turn", "turns"]

CONFLICTS = 2_000
"""Solver conflicts to spend on a set of flows; where they do not do, flows take turns."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Flows that a switch serves in one round, of several.

    Parameters
    ----------
    switch : int
        Its node.
    messages : tuple of int
        Positions of the flows in the schedule.
    """

    switch: int
    messages: tuple[int, ...]


def turns(
    topology: Topology, groups: Sequence[Sequence[tuple[int, Transfer | RingPass]]]
) -> list[Turn]:
    """Return the rounds of all switches that need more than one for flows without a common link.

    Flows that share a link of a switch share its bandwidth, and need no round for that. Unicasts
    always have paths.

    Parameters
    ----------
    topology : Topology
        Where the flows run.
    groups : sequence
        Messages of each group, with their positions; those of a group go one after the other, and
        groups go side by side.
    """
    found: list[Turn] = []
    if not topology.interconnects or len(groups) < 2:
        return found
    flows = [[(position, item) for position, item in group if item.joins] for group in groups]
    for step in range(max(map(len, flows))):
        at_once = [group[step] for group in flows if step < len(group)]
        if len(at_once) > 1:
            found += _turns_of_a_step(topology, at_once)
    return found


def _turns_of_a_step(
    topology: Topology, at_once: Iterable[tuple[int, Transfer | RingPass]]
) -> list[Turn]:
    crossing: dict[int, list[tuple[int, list[int], list[int]]]] = {}
    for position, item in at_once:
        ends: dict[int, tuple[list[int], list[int]]] = {}
        for index, _ in item.loads():
            link = topology.links[index]
            if link.target in topology.interconnects:
                ends.setdefault(link.target, ([], []))[0].append(link.source)
            if link.source in topology.interconnects:
                ends.setdefault(link.source, ([], []))[1].append(link.target)
        for switch, (sources, targets) in ends.items():
            crossing.setdefault(switch, []).append((position, sources, targets))
    found: list[Turn] = []
    for switch, flows in crossing.items():
        inside = topology.interconnects[switch]
        for one in _port_sets(flows, inside.ports_of):
            rounds = route_in_rounds(
                one.flows, inside.ports, inside.middle_switches, max_conflicts=CONFLICTS
            )
            if len(rounds) > 1:
                place = dict(zip(one.flows, one.positions, strict=True))
                found += [Turn(switch, tuple(place[f] for f in turn.flows)) for turn in rounds]
    return found


class _PortSet:
    """Flows that share no port, and their positions in the schedule."""

    def __init__(self, ports_of: Mapping[int, range]) -> None:
        self._ports_of = ports_of
        self._inputs: set[int] = set()
        self._outputs: set[int] = set()
        self.positions: list[int] = []
        self.flows: list[Flow] = []

    def take(self, position: int, sources: Sequence[int], targets: Sequence[int]) -> bool:
        """Add a flow, by the first free port of each neighbour; return whether there are any."""
        inputs, outputs = self._free(sources, self._inputs), self._free(targets, self._outputs)
        if inputs and outputs:
            self._inputs.update(inputs)
            self._outputs.update(outputs)
            self.positions.append(position)
            self.flows.append(Flow(inputs, outputs))
        return bool(inputs and outputs)

    def _free(self, neighbours: Sequence[int], used: set[int]) -> list[int]:
        found: list[int] = []
        for one in neighbours:
            port = next((port for port in self._ports_of[one] if port not in used), None)
            if port is None:
                return []
            found.append(port)
        return found


def _port_sets(
    flows: Sequence[tuple[int, list[int], list[int]]], ports_of: Mapping[int, range]
) -> list[_PortSet]:
    """Return flows from neighbours to neighbours in sets of those that share no port."""
    sets: list[_PortSet] = []
    for flow in flows:
        if not any(one.take(*flow) for one in sets):
            sets.append(_PortSet(ports_of))
            sets[-1].take(*flow)
    return sets
