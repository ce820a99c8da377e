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
        Node of the switch.
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
        Topology on which the flows run.
    groups : sequence
        Messages of each group, with their positions; those of a group go one after the other, and
        groups go side by side.
    """
    found: list[SwitchRound] = []
    if not topology.interconnects or len(groups) < 2:
        return found
    flows = [
        [(place, item) for place, item in group if isinstance(item, Transfer) and item.joins]
        for group in groups
    ]
    ends_of = _ends_of_links(topology)
    shapes = {switch: _shape(inside) for switch, inside in topology.interconnects.items()}
    for step in range(max(map(len, flows))):
        at_once = [group[step] for group in flows if step < len(group)]
        for switch, (positions, ends) in _crossing(at_once, ends_of).items():
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


_ENTERED, _LEFT = 0, 1
"""Whether a flow enters a switch over a link, or leaves it."""


def _ends_of_links(topology: Topology) -> list[list[tuple[int, int, int]]]:
    """Return the ends of each link at switches: switch, direction and first port of the link."""
    inside = topology.interconnects
    found: list[list[tuple[int, int, int]]] = []
    for link in topology.links:
        ends: list[tuple[int, int, int]] = []
        if link.target in inside:
            ends.append((link.target, _ENTERED, inside[link.target].ports_of[link.source].start))
        if link.source in inside:
            ends.append((link.source, _LEFT, inside[link.source].ports_of[link.target].start))
        found.append(ends)
    return found


def _crossing(
    at_once: Iterable[tuple[int, Transfer]], ends_of: Sequence[Sequence[tuple[int, int, int]]]
) -> dict[int, tuple[list[int], list[_Ends]]]:
    """Return the flows that cross each switch: their positions, and where they enter and leave."""
    found: dict[int, tuple[list[int], list[_Ends]]] = {}
    for position, item in at_once:
        crossed: dict[int, tuple[list[int], list[int]]] = {}
        for link, _ in item.hops:
            for switch, direction, port in ends_of[link]:
                ends = crossed.get(switch)
                if ends is None:
                    ends = crossed[switch] = ([], [])
                ends[direction].append(port)
        for switch, (entered, left) in crossed.items():
            positions, flows = found.setdefault(switch, ([], []))
            positions.append(position)
            flows.append((tuple(entered), tuple(left)))
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
        self._used: tuple[dict[int, int], dict[int, int]] = ({}, {})  # ports of each link
        self.places: list[int] = []
        self.flows: list[_Ends] = []

    def is_full(self, direction: int, link: int) -> bool:
        """Return whether no port of a link is left in a direction."""
        return self._used[direction].get(link, 0) == len(self._ports_of[link])

    def take(self, place: int, flow: _Ends) -> bool:
        """Add a flow, by the first free port of each link; return whether there are any."""
        for direction, links in enumerate(flow):
            if not links or any(self.is_full(direction, link) for link in links):
                return False
        self.places.append(place)
        self.flows.append((self._ports(_ENTERED, flow[0]), self._ports(_LEFT, flow[1])))
        return True

    def _ports(self, direction: int, links: Sequence[int]) -> tuple[int, ...]:
        used, found = self._used[direction], list[int]()
        for link in links:
            number = used.get(link, 0)
            used[link] = number + 1
            found.append(self._ports_of[link][number])
        return tuple(found)


def _port_sets(ends: Sequence[_Ends], ports_of: Mapping[int, range]) -> list[_PortSet]:
    """Return flows in sets of those that share no port, each in the first that has space."""
    sets: list[_PortSet] = []
    first: dict[tuple[int, int], int] = {}  # set that may have a free port of a link
    for place, flow in enumerate(ends):
        number = 0
        for direction, links in enumerate(flow):
            for link in links:
                least = first.get((direction, link), 0)
                while least < len(sets) and sets[least].is_full(direction, link):
                    least += 1
                first[direction, link] = least
                number = max(number, least)
        while number < len(sets) and not sets[number].take(place, flow):
            number += 1
        if number == len(sets):
            sets.append(_PortSet(ports_of))
            sets[-1].take(place, flow)
    return sets
