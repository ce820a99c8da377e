"""The FRED fabric: NPUs and I/O controllers on L1 switches, with levels of switches above."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, repeat

from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.switch_timing.provenance import Provenance, RecordUse
from perfmodel.switch_timing.record import IDEAL_PROTOCOL, SwitchTiming

from . import cuts
from .block import Dimension
from .graph import Hops, Link, Node, Topology
from .interconnect import Interconnect
from .switch_tree import SwitchTree

__all__ = ["L1", "FredTopology", "Level"]


@dataclass(frozen=True, slots=True)
class L1:
    """One logical L1 switch.

    Parameters
    ----------
    npus, io_controllers : int
        Numbers of NPUs and I/O controllers attached to it.
    timing : SwitchTiming
        Timing of each of its chiplets.
    """

    npus: int
    io_controllers: int
    timing: SwitchTiming


@dataclass(frozen=True, slots=True)
class Level:
    """A level of switches above the L1s.

    Parameters
    ----------
    switches : tuple of SwitchTiming
        Timing of each chiplet, by switch.
    fan_in : int
        Number of switches of the level below per switch; the last switch may have fewer.
    bytes_per_s : float
        Bandwidth from each lower switch, each direction [B/s].
    links : int
        Parallel links that share this bandwidth equally.
    """

    switches: tuple[SwitchTiming, ...]
    fan_in: int
    bytes_per_s: float
    links: int = 1


class FredTopology(Topology):
    """A tree of switches; the NPUs of the first L1 come first.

    Parameters
    ----------
    name : str
        Name given by the user.
    l1 : sequence of L1
        The L1 switches.
    levels : sequence of Level
        Levels above, the lowest first; the last has one switch, whose protocol is that of the
        topology.
    npu_l1_bytes_per_s, io_bytes_per_s : float
        Bandwidth of an NPU and of an I/O controller to its L1, each direction [B/s].
    link_latency_s : float
        Latency of every link in each direction [s].
    in_network : bool
        Whether the switches reduce (FRED-B, D) or only route (FRED-A, C). Switches that reduce also
        fork multicasts.
    multicast : bool
        Whether the switches fork multicasts without ``in_network``.
    endpoint : EndpointTiming or None
        Timing of the endpoint at each port of an NPU, which has as many as its bandwidth needs;
        None if endpoints cost nothing.
    links_of : callable or None
        Returns, for the ends of a unicast, the parallel link that it takes from one switch to the
        next; with None every unicast takes the first one.
    """

    def __init__(
        self,
        *,
        name: str,
        l1: Sequence[L1],
        levels: Sequence[Level],
        npu_l1_bytes_per_s: float,
        io_bytes_per_s: float,
        link_latency_s: float,
        in_network: bool,
        multicast: bool = False,
        endpoint: EndpointTiming | None = None,
        links_of: Callable[[int, int], Sequence[int]] | None = None,
    ) -> None:
        self._in_network = self.adds = in_network
        self._links_of = links_of
        self.endpoint = endpoint = _at_npu(endpoint, npu_l1_bytes_per_s)
        self.multicast = "in-network multicast" if in_network or multicast else ""
        self.switch_of = switch_of = dict[int, int]()
        count = sum(switch.npus for switch in l1)
        nodes = [Node(f"npu_{i}", "npu") for i in range(count)]
        # Switches by level, with their timing and their parent.
        self.levels: list[tuple[int, ...]] = []
        timings, above = dict[int, SwitchTiming](), dict[int, int]()
        for number, row in enumerate([[one.timing for one in l1], *(up.switches for up in levels)]):
            first = len(nodes)
            self.levels.append(tuple(range(first, first + len(row))))
            timings.update(zip(self.levels[-1], row, strict=True))
            for own, timing in zip(_names(number + 1, len(row)), row, strict=True):
                cross_s = timing.latency_s, timing.preemption_s, timing.sooner_s
                nodes.append(Node(own, "switch", *cross_s))
            if number:
                for place, below in enumerate(self.levels[-2]):
                    above[below] = first + place // levels[number - 1].fan_in
        nodes += [Node(f"io_{i}", "io") for i in range(sum(one.io_controllers for one in l1))]
        links: list[Link] = []

        def connect(a: int, b: int, bytes_per_s: float, count: int = 1) -> None:
            ends = [timings[end] for end in (a, b) if end in timings]
            share = _share(ends, endpoint, link_latency_s, bytes_per_s / count / npu_l1_bytes_per_s)
            links.extend(_both_directions(a, b, bytes_per_s / count, link_latency_s, share) * count)

        npu, io = 0, len(nodes) - sum(one.io_controllers for one in l1)
        for node, switch in zip(self.l1_nodes, l1, strict=True):
            for end in range(npu, npu + switch.npus):
                connect(end, node, npu_l1_bytes_per_s)
                switch_of[end] = node
            for end in range(io, io + switch.io_controllers):
                connect(end, node, io_bytes_per_s)
                switch_of[end] = node
            npu, io = npu + switch.npus, io + switch.io_controllers
            connect(node, above[node], levels[0].bytes_per_s, levels[0].links)
        for row, level in zip(self.levels[1:-1], levels[1:], strict=True):
            for node in row:
                connect(node, above[node], level.bytes_per_s, level.links)
        self._above = above
        named = {nodes[node].name: timing for node, timing in timings.items()}
        provenance = _provenance(named, endpoint, bool(self.multicast))
        super().__init__(name, nodes, links, provenance, levels[-1].switches[0].protocol)
        self._take(timings, max(one.bytes_per_s for one in levels))

    def _take(self, timings: Mapping[int, SwitchTiming], widest_bytes_per_s: float) -> None:
        """Set properties of the topology that depend on timings and the widest switch link."""
        every, own = [*timings.values()], next(one for one in self.links if one.source == 0)
        if self.multicast:
            self.interconnects = self._insides(timings, own.bytes_per_s)
        if self.endpoint and not self.in_network:
            # Links narrower than a port do not match the flit cycle of an endpoint.
            narrow = widest_bytes_per_s <= own.bytes_per_s
            self.single_ports = narrow and self.endpoint.fills(own.bytes_per_s)
        self.inside_cycles = max(one.record.latency_cycles for one in every)
        self.waits_for_acks = any(one.switch is not None for one in every)

    def _insides(
        self, timings: Mapping[int, SwitchTiming], npu_bytes_per_s: float
    ) -> dict[int, Interconnect]:
        """Return the interior of each switch."""
        rates: dict[int, dict[int, float]] = {node: {} for node in timings}
        for link in self.links:
            if link.target in rates:
                rates[link.target][link.source] = link.bytes_per_s
        return {
            node: self._inside(node, one, rates[node], npu_bytes_per_s)
            for node, one in timings.items()
        }

    def _inside(
        self, node: int, timing: SwitchTiming, rates: Mapping[int, float], npu_bytes_per_s: float
    ) -> Interconnect:
        """Return the interior of a switch, given the rates of the links to it by their sources.

        An NPU and an I/O controller have a port of every chiplet, and what is left goes in equal
        parts to the connected switches, the rest of that to the one above. There are as many
        chiplets as carry the rate of an NPU, or of the second fastest link if that is less.
        """
        ends = [one for one in rates if self.nodes[one].kind != "switch"]
        switches = sorted(set(rates) - set(ends))  # those below first, then the parent
        each = (timing.ports - len(ends)) // len(switches)
        counts = [*[1] * len(ends), *[each] * len(switches)]
        if node != self.top_node:
            counts[-1] += timing.ports - sum(counts)
        ports_of: dict[int, range] = {}
        first = 0
        for one, count in zip([*ends, *switches], counts, strict=True):
            ports_of[one] = range(first, first + count)
            first += count
        second = sorted(rates.values())[-2:][0]
        payload = min(second, npu_bytes_per_s) * timing.efficiency
        return Interconnect(timing.ports, timing.record.spec.middle_switches, ports_of, payload)

    @property
    def in_network(self) -> bool:
        """Whether the switches reduce and multicast."""
        return self._in_network

    @property
    def l1_nodes(self) -> tuple[int, ...]:
        """Node numbers of the L1 switches."""
        return self.levels[0]

    @property
    def top_node(self) -> int:
        """Node number of the topmost switch."""
        return self.levels[-1][0]

    @property
    def scheduling_dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions: NPUs on an L1, then per level the switches below each of its switches.

        An NPU has an equal share of the links above its switch. There are no dimensions if switches
        of a level differ in their members.
        """
        found: list[Dimension] = []
        stride, below = 1, tuple(range(self.npus))
        for row in self.levels:
            fan_in, rest = divmod(len(below), len(row))
            hung = [sum((one, switch) in self.link_index for one in below) for switch in row]
            if rest or {*hung} != {fan_in}:
                return ()
            link = self.links[self.link_index[below[0], row[0]]]
            if fan_in > 1:
                rate = link.payload_bytes_per_s / stride
                found.append(Dimension(fan_in, stride, "switch", rate, link.efficiency))
            stride, below = stride * fan_in, row
        return tuple(found)

    def layout(self) -> dict[int, tuple[float, float]]:
        """Return node positions in pixels: levels from top to bottom, NPUs and I/O last."""
        place: dict[int, tuple[float, float]] = {}
        below: dict[int, list[int]] = {}
        for end, switch in self.switch_of.items():
            below.setdefault(switch, []).append(end)
        x, y = 40.0, 40.0 + 120 * (len(self.levels) - 1)
        for switch in self.l1_nodes:
            ends = below[switch]
            for number, end in enumerate(ends):
                place[end] = (x + 34 * number, y + 140.0 + (34 if number % 2 else 0))
            place[switch] = (x + 17 * (len(ends) - 1), y)
            x += 34 * len(ends) + 24
        for row, upper in pairwise(self.levels):
            y -= 120
            for switch in upper:
                own = [place[one][0] for one in row if (one, switch) in self.link_index]
                place[switch] = (sum(own) / len(own), y)
        return place

    def hops(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return the links of a flow, see ``switch_tree.SwitchTree.hops``.

        Raises
        ------
        ValueError
            The flow joins or forks and the switches do not.
        """
        joins, forks = len(sources) > 1, len(targets) > 1
        if (joins and not self.in_network) or (forks and not self.multicast):
            raise ValueError(f"{self.name} has no in-network collectives")
        found = self._tree.hops(sources, targets)
        if joins or forks or not self._links_of:
            return found
        first, *between, last = found
        parallel = chain(self._links_of(sources[0], targets[0]), repeat(0))
        # Links of both directions alternate.
        taken = [
            (link + 2 * more, before)
            for (link, before), more in zip(between, parallel, strict=False)
        ]
        return (first, *taken, last)

    @cached_property
    def _tree(self) -> SwitchTree:
        return SwitchTree(self._above, self.switch_of, self.link_index)

    def bisection_bytes_per_s(self) -> float:
        """Return half of the min cut between all NPUs and the top switch, one direction [B/s].

        Five L1 switches have no exact half: as the published figures do, this counts the uplinks of
        two and a half of them.
        """
        npus = [f"npu_{i}" for i in range(self.npus)]
        top = self.nodes[self.top_node].name
        return cuts.min_cut(self.graph(), npus, [top], "bytes_per_s") / 2


def _share(
    ends: Sequence[SwitchTiming], endpoint: EndpointTiming | None, link_s: float, rate: float
) -> float:
    """Return the payload fraction of a link between switches, or of one to a switch.

    It has ``rate`` times the rate of an NPU: more ports if that is more, else slower ones.
    """
    share = min(one.efficiency for one in ends)
    if endpoint is None:
        return share
    slowest = max(one.record.latency_cycles for one in ends)
    return min(share, endpoint.link_share(link_s, slowest, min(1.0, rate)))


def _both_directions(
    a: int, b: int, bytes_per_s: float, latency_s: float, share: float
) -> list[Link]:
    """Return a link in each direction between two nodes."""
    return [Link(*ends, bytes_per_s, latency_s, share) for ends in ((a, b), (b, a))]


def _at_npu(timing: EndpointTiming | None, npu_bytes_per_s: float) -> EndpointTiming | None:
    """Return the timing of as many endpoints as an NPU's bandwidth requires."""
    if timing is None:
        return None
    return timing.with_ports(max(1, round(npu_bytes_per_s / timing.load_bytes_per_s)))


def _names(level: int, count: int) -> Sequence[str]:
    """Return the names of the switches of a level; a single switch has no number."""
    alone = count == 1 and level > 1
    return [f"l{level}"] if alone else [f"l{level}_{place}" for place in range(count)]


def _provenance(
    named: Mapping[str, SwitchTiming], endpoint: EndpointTiming | None, forks: bool
) -> Provenance:
    """Return the records of switches and endpoints, and the remaining assumptions."""
    uses = _uses([*named.items()])
    if endpoint is not None:
        uses = (*uses, endpoint.use("endpoints"))
    return Provenance(uses, _assumptions([*named.values()], forks))


def _uses(switches: Sequence[tuple[str, SwitchTiming]]) -> tuple[RecordUse, ...]:
    """Return the provenance of each record, with all switches that it describes."""
    names: dict[tuple[str, int], list[str]] = {}
    timings: dict[tuple[str, int], SwitchTiming] = {}
    for name, timing in switches:
        key = (timing.loaded_as, timing.ports)
        names.setdefault(key, []).append(name)
        timings[key] = timing
    return tuple(timings[key].use(_listed(found)) for key, found in names.items())


def _listed(names: Sequence[str]) -> str:
    """Return a list of names as text; of more than four per level only the first and last."""
    levels: dict[str, list[str]] = {}
    for name in names:
        levels.setdefault(name.partition("_")[0], []).append(name)
    return ", ".join(
        f"{row[0]} to {row[-1]}" if len(row) > 4 else ", ".join(row) for row in levels.values()
    )


def _assumptions(timings: Sequence[SwitchTiming], forks: bool) -> tuple[str, ...]:
    """Return the assumptions that records and variant leave open."""
    found: list[str] = []
    if forks:
        found.append("a switch serves flows of different circuits at once if they share no link")
    lost = max(timing.reconfiguration_cycles for timing in timings)
    if lost:
        found.append(
            f"phases follow each other without a gap, which was measured as up to {lost} cycle(s)"
        )
    if all(timing.protocol == "ideal" for timing in timings):
        return (*found, IDEAL_PROTOCOL)
    partial = dict.fromkeys(timing.loaded_as for timing in timings if timing.switch is None)
    if partial:
        found.append(f"headers, CRC, acks and link layer are free in {', '.join(partial)}")
    if any(timing.switch for timing in timings):
        found.append("links are free of faults, so nothing is sent again")
    return tuple(found)
