"""Rounds in which a switch serves flows that cannot be routed at the same time.

The router of the switches says so (``fred_hw.compiler.routing``): flows active at once need
paths through the middle subswitches of FRED_m(P), and where m are too few, some wait for a later
round. Rounds of a switch follow each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route_in_rounds
from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.topology.graph import Topology
from perfmodel.topology.interconnect import Interconnect

__all__ = ["SwitchRound", "switch_rounds"]

CONFLICTS = 2_000
"""Solver conflicts to spend on a set of flows; beyond the limit, flows go in several rounds."""


@dataclass(frozen=True, slots=True)
class SwitchRound:
    """Flows that a switch serves in one of several rounds.

    Parameters
    ----------
    switch : int
        Its node.
    messages : tuple of int
        Positions of the flows in the schedule.
    """

    switch: int
    messages: tuple[int, ...]


def switch_rounds(
    topology: Topology, groups: Sequence[Sequence[tuple[int, Transfer | RingPass]]]
) -> list[SwitchRound]:
    """Return the rounds of switches that cannot route all flows without a common link at once.

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
    found: list[SwitchRound] = []
    if not topology.interconnects or len(groups) < 2:
        return found
    flows = [[(position, item) for position, item in group if item.joins] for group in groups]
    into, out_of = _ports_of_links(topology)
    shapes = {switch: _shape(inside) for switch, inside in topology.interconnects.items()}
    for step in range(max(map(len, flows))):
        at_once = [group[step] for group in flows if step < len(group)]
        for switch, (positions, ends) in _crossing(at_once, into, out_of).items():
            rounds = _rounds(shapes[switch], tuple(ends)) if len(ends) > 1 else ()
            found += [
                SwitchRound(switch, tuple(positions[one] for one in places)) for places in rounds
            ]
    return found


_Ends = tuple[tuple[int, ...], tuple[int, ...]]
"""First ports of the links over which a flow enters a switch, and of those over which it leaves."""


@dataclass(frozen=True, eq=False)
class _Shape:
    """A switch: its ports and middle subswitches, and the ports of each link by the first of it."""

    ports: int
    middle_switches: int
    ports_of: Mapping[int, range]


def _shape(inside: Interconnect) -> _Shape:
    return _known_shape(inside.ports, inside.middle_switches, tuple(inside.ports_of.values()))


@lru_cache(maxsize=64)
def _known_shape(ports: int, middle: int, ports_of: tuple[range, ...]) -> _Shape:
    return _Shape(ports, middle, {one.start: one for one in ports_of})


def _ports_of_links(
    topology: Topology,
) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]]]:
    """Return switch and first port of the links that enter switches, and of those that leave."""
    into: dict[int, tuple[int, int]] = {}
    out_of: dict[int, tuple[int, int]] = {}
    inside = topology.interconnects
    for number, link in enumerate(topology.links):
        if link.target in inside:
            into[number] = link.target, inside[link.target].ports_of[link.source].start
        if link.source in inside:
            out_of[number] = link.source, inside[link.source].ports_of[link.target].start
    return into, out_of


def _crossing(
    at_once: Iterable[tuple[int, Transfer | RingPass]],
    into: Mapping[int, tuple[int, int]],
    out_of: Mapping[int, tuple[int, int]],
) -> dict[int, tuple[list[int], list[_Ends]]]:
    """Return the flows that cross each switch: their positions, and where they enter and leave."""
    found: dict[int, tuple[list[int], list[_Ends]]] = {}
    for position, item in at_once:
        entered: dict[int, list[int]] = {}
        left: dict[int, list[int]] = {}
        for link, _ in item.loads():
            if link in into:
                switch, port = into[link]
                entered.setdefault(switch, []).append(port)
            if link in out_of:
                switch, port = out_of[link]
                left.setdefault(switch, []).append(port)
        for switch in entered | left:
            ends = tuple(entered.get(switch, ())), tuple(left.get(switch, ()))
            positions, flows = found.setdefault(switch, ([], []))
            positions.append(position)
            flows.append(ends)
    return found


@lru_cache(maxsize=1 << 12)
def _rounds(shape: _Shape, ends: tuple[_Ends, ...]) -> tuple[tuple[int, ...], ...]:
    """Return places of flows in each round of a switch that needs several; the same flows recur."""
    found: list[tuple[int, ...]] = []
    for one in _port_sets(ends, shape.ports_of):
        if len(one.flows) == 1:
            continue
        flows = [Flow(*some) for some in one.flows]
        rounds = route_in_rounds(flows, shape.ports, shape.middle_switches, max_conflicts=CONFLICTS)
        if len(rounds) > 1:
            place = dict(zip(flows, one.places, strict=True))
            found += [tuple(place[flow] for flow in served.flows) for served in rounds]
    return tuple(found)


class _PortSet:
    """Flows that share no port: where they enter and leave, and their places among all."""

    def __init__(self, ports_of: Mapping[int, range]) -> None:
        self._ports_of = ports_of
        self._inputs: set[int] = set()
        self._outputs: set[int] = set()
        self.places: list[int] = []
        self.flows: list[tuple[list[int], list[int]]] = []

    def take(self, place: int, sources: Sequence[int], targets: Sequence[int]) -> bool:
        """Add a flow, by the first free port of each link; return whether there are any."""
        inputs, outputs = self._free(sources, self._inputs), self._free(targets, self._outputs)
        if inputs and outputs:
            self._inputs.update(inputs)
            self._outputs.update(outputs)
            self.places.append(place)
            self.flows.append((inputs, outputs))
        return bool(inputs and outputs)

    def _free(self, links: Sequence[int], used: set[int]) -> list[int]:
        found: list[int] = []
        for one in links:
            port = next((port for port in self._ports_of[one] if port not in used), None)
            if port is None:
                return []
            found.append(port)
        return found


def _port_sets(ends: Sequence[_Ends], ports_of: Mapping[int, range]) -> list[_PortSet]:
    """Return flows in sets of those that share no port."""
    sets: list[_PortSet] = []
    for place, flow in enumerate(ends):
        if not any(one.take(place, *flow) for one in sets):
            sets.append(_PortSet(ports_of))
            sets[-1].take(place, *flow)
    return sets
