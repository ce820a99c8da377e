"""Several equal wafers, joined by links between their I/O controllers.

The paper (arXiv 2406.19580, section on more than one wafer) reduces inside each wafer towards the
I/O controllers, all-reduces between the wafers, and distributes inside. Controllers of equal number
are joined: there are as many lanes between the wafers as a wafer has controllers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fred_hw.errors import FieldError, InputError
from fred_hw.files import int_range, one_of
from fred_hw.reading import SUFFIXES
from perfmodel.switch_timing.record import SwitchTiming, load_record

from . import cuts, parse
from .block import Line
from .blocks import MAX_NPUS
from .files import KINDS, Kind, Protocol, Rate, Time, TopologyFile, read_topology_file
from .graph import Hops, Link, Node, OnWafer, Part, Topology
from .interconnect import Interconnect
from .switch_tree import SwitchTree

__all__ = ["JOINS", "WafersFile", "WafersTopology"]

_WORDS = {
    "switch": "through switches that take no time and only route",
    "fred": "through FRED switches, which reduce and multicast at the full rate of every "
    "controller; a link between two switches has the bandwidth of one controller",
    "ring": "in a ring",
    "fully_connected": "each with each other",
}

JOINS = tuple(_WORDS)
"""How controllers of equal number are joined."""

LINK_LATENCY_S = 500e-9
"""Latency of a link between wafers [s]: an assumption, of the order of optical links in a rack
(the value of ASTRA-sim's examples of scale-out links)."""


class WafersTopology(Topology):
    """Equal wafers; NPUs are numbered wafer by wafer.

    Parameters
    ----------
    name : str
        Name as the user wrote it.
    wafer : Topology
        Topology of each wafer, with I/O controllers.
    wafers : int
        Number of wafers, 2 or more.
    join : str
        One of ``JOINS``.
    bytes_per_s : float or None
        Bandwidth of each controller to other wafers, each direction, which its links share equally
        [B/s]; that of the controller's link on the wafer if None.
    latency_s : float
        Latency of each link between wafers, in each direction [s].
    timing : SwitchTiming or None
        Timing of the switches of the join ``fred``.

    Raises
    ------
    FieldError
        Switches of two ports are to join three or more wafers; names the field ``record`` of a
        topology file.
    """

    neighbours_matter = True

    def __init__(
        self,
        *,
        name: str,
        wafer: Topology,
        wafers: int,
        join: str = "switch",
        bytes_per_s: float | None = None,
        latency_s: float = LINK_LATENCY_S,
        timing: SwitchTiming | None = None,
    ) -> None:
        if timing is not None and timing.ports < 3 <= wafers:
            message = f"must be of a switch with 3 or more ports to join {wafers} wafers"
            raise FieldError("record", f"{message}, not of one with {timing.ports}")
        self._wafer, self.wafers, self.between = wafer, wafers, join
        inner = len(wafer.nodes) - wafer.npus
        self._nodes = [
            tuple(range(first * wafer.npus, (first + 1) * wafer.npus))
            + tuple(wafers * wafer.npus + first * inner + i for i in range(inner))
            for first in range(wafers)
        ]
        nodes = list(wafer.nodes[: wafer.npus]) * wafers
        nodes = [Node(f"npu_{i}", "npu", *_times(one)) for i, one in enumerate(nodes)]
        for number in range(wafers):
            for one in wafer.nodes[wafer.npus :]:
                nodes.append(Node(f"wafer{number}_{one.name}", one.kind, *_times(one)))
        links = [
            Link(own[one.source], own[one.target], one.bytes_per_s, one.latency_s, one.efficiency)
            for own in self._nodes
            for one in wafer.links
        ]
        self._lanes = [tuple(own[io] for own in self._nodes) for io in wafer.io_nodes]
        self._places = {
            node: (number, local)
            for number, own in enumerate(self._nodes)
            for local, node in enumerate(own)
        }
        self._line = Line(join, wafers) if join in ("ring", "fully_connected") else None
        self._above: list[dict[int, int]] = []  # of each lane: controllers and switches
        self._join(nodes, links, bytes_per_s, latency_s, timing)
        self.switch_of = self._shifted(wafer.switch_of)
        self.interconnects = self._insides()
        self.adds, self.npu_rates = wafer.adds, wafer.npu_rates
        self.fork_assumptions = wafer.fork_assumptions
        self.stream_assumptions = wafer.stream_assumptions
        self.waits_for_acks, self.inside_cycles = wafer.waits_for_acks, wafer.inside_cycles
        source = wafer.provenance.plus(
            f"I/O controllers of equal number on {wafers} wafers are joined: {_WORDS[join]}",
            f"links between wafers take {latency_s * 1e9:g} ns, and have the bandwidth of their "
            "I/O controllers"
            + ("" if bytes_per_s is None else f" to other wafers, {bytes_per_s * 1e-9:g} GB/s"),
        )
        if timing is not None:
            source = replace(source, records=(*source.records, timing.use("between wafers")))
        super().__init__(name, nodes, links, source, wafer.protocol)

    def _join(
        self,
        nodes: list[Node],
        links: list[Link],
        bytes_per_s: float | None,
        latency_s: float,
        timing: SwitchTiming | None,
    ) -> None:
        """Add the nodes and links between wafers, lane by lane."""

        def connect(a: int, b: int, rate: float, share: float) -> None:
            links.append(Link(a, b, rate, latency_s, share))
            links.append(Link(b, a, rate, latency_s, share))

        for number, (io, lane) in enumerate(zip(self.wafer.io_nodes, self._lanes, strict=True)):
            own = next(one for one in self.wafer.links if one.source == io)
            rate, share = bytes_per_s or own.bytes_per_s, own.efficiency
            if self._line is not None:
                links_per_controller = self._line.links // self.wafers
                for a, b in self._line.pairs():
                    connect(lane[a], lane[b], rate / links_per_controller, share)
                continue
            cross = (0.0, 0.0, 0.0)
            if timing is not None:
                cross = timing.latency_s, timing.preemption_s, timing.sooner_s
                share = min(share, timing.efficiency)
            ports = timing.ports if timing else self.wafers
            above: dict[int, int] = {}
            row, level = list(lane), 0
            while len(row) > 1 or not level:
                # A switch below the top level needs a port for its link to the switch above.
                fan_in = ports if len(row) <= ports else ports - 1
                level += 1
                upper: list[int] = []
                for place, below in enumerate(row):
                    if place % fan_in == 0:
                        upper.append(len(nodes))
                        nodes.append(
                            Node(f"lane{number}_l{level}_{len(upper) - 1}", "switch", *cross)
                        )
                    connect(below, upper[-1], rate, share)
                    above[below] = upper[-1]
                row = upper
            self._above.append(above)

    def _shifted(self, of_wafer: Mapping[int, int]) -> dict[int, int]:
        """Return a mapping of nodes of a wafer to nodes for all wafers."""
        return {own[a]: own[b] for own in self._nodes for a, b in of_wafer.items()}

    def _insides(self) -> dict[int, Interconnect]:
        """Return what is inside the switches on all wafers."""
        return {
            own[node]: replace(one, ports_of={own[a]: b for a, b in one.ports_of.items()})
            for own in self._nodes
            for node, one in self.wafer.interconnects.items()
        }

    @property
    def wafer(self) -> Topology:
        """Each of the equal wafers."""
        return self._wafer

    @property
    def in_network(self) -> bool:
        """False: no switch reaches all wafers; ``on_wafer`` has the switches of a wafer."""
        return False

    def parts(self, npus: Sequence[int]) -> Sequence[Part]:
        """Return the members of a group wafer by wafer, those of its first member first."""
        found: dict[int, list[int]] = {}
        for npu in npus:
            found.setdefault(self._places[npu][0], []).append(npu)
        return [
            Part(tuple(some), tuple(lane[wafer] for lane in self._lanes))
            for wafer, some in found.items()
        ]

    def on_wafer(self, nodes: Sequence[int]) -> OnWafer:
        """Return a group as seen on the wafer that holds all of it, or on all wafers."""
        places = [self._places[node] for node in nodes]
        numbers = {number for number, _ in places}
        if len(numbers) != 1:
            return super().on_wafer(nodes)
        [number] = numbers
        members = tuple(local for _, local in places)
        return OnWafer(self.wafer, members, self._nodes[number], number * len(self.wafer.links))

    def hops(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return the links of a flow.

        On a wafer they are those of the wafer. A message to another wafer leaves by one of the I/O
        controllers nearest to its source, which its numbers choose, and comes in by the controller
        of equal number. Only controllers of equal number join or fork flows between wafers, through
        FRED switches.

        Raises
        ------
        ValueError
            The flow joins or forks, and what it crosses does not.
        """
        placed = self.on_wafer((*sources, *targets))
        if placed.topology is self.wafer:
            own = placed.members
            return placed.hops(self.wafer.hops(own[: len(sources)], own[len(sources) :]))
        if all(self.nodes[node].kind == "io" for node in (*sources, *targets)):
            return self._across(sources, targets)
        if len(sources) + len(targets) != 2:
            raise self._not_in_network()
        [source], [target] = sources, targets
        here, there = self._places[source][0], self._places[target][0]
        lanes = self._nearest[source % self.wafer.npus]
        lane = self._lanes[lanes[(source + target) % len(lanes)]]
        parts = (
            self.reduction_hops(sources, lane[here]),
            self._across((lane[here],), (lane[there],)),
            self.hops((lane[there],), targets),
        )
        links = enumerate(link for part in parts for link, _ in part)
        return tuple((link, (i - 1,) if i else ()) for i, link in links)

    def _not_in_network(self) -> ValueError:
        return ValueError(f"{self.name} has no in-network collectives across wafers")

    def reduction_hops(self, sources: Sequence[int], io: int) -> Hops:
        """Return the links from NPUs of a wafer, joined, to an I/O controller of this wafer.

        Raises
        ------
        ValueError
            Some NPU is on another wafer, or the wafer cannot carry such a transfer.
        """
        placed = self.on_wafer((*sources, io))
        if placed.topology is self:
            raise self._not_in_network()
        *npus, own = placed.members
        return placed.hops(self.wafer.reduction_hops(npus, own))

    def _across(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return the links between I/O controllers of equal number."""
        lane = next(i for i, one in enumerate(self._lanes) if sources[0] in one)
        if self._line is None:
            if self.between != "fred" and len(sources) + len(targets) != 2:
                raise self._not_in_network()
            return self._trees[lane].hops(sources, targets)
        [source], [target] = sources, targets
        path = self._line.path(self._places[source][0], self._places[target][0])
        ends = pairwise(self._lanes[lane][wafer] for wafer in path)
        return tuple((self.link_index[pair], (i - 1,) if i else ()) for i, pair in enumerate(ends))

    @cached_property
    def _trees(self) -> list[SwitchTree]:
        """Switches that join the I/O controllers of each lane."""
        return [
            SwitchTree(
                {below: switch for below, switch in above.items() if below not in lane},
                {io: above[io] for io in lane},
                self.link_index,
            )
            for lane, above in zip(self._lanes, self._above, strict=True)
        ]

    @cached_property
    def _nearest(self) -> list[list[int]]:
        """Numbers of the I/O controllers that are nearest to each NPU of a wafer."""
        found: list[list[int]] = []
        for npu in range(self.wafer.npus):
            far = [len(self.wafer.reduction_hops((npu,), io)) for io in self.wafer.io_nodes]
            found.append([lane for lane, count in enumerate(far) if count == min(far)])
        return found

    def link_ends(self, index: int) -> tuple[str, str]:
        """Return the kinds of the nodes at the ends; those between wafers count as I/O."""
        if index < self.wafers * len(self.wafer.links):
            return super().link_ends(index)
        return "io", "io"

    def links_of_lines(self, link: int, offsets: Iterable[int]) -> list[int]:
        number, own = divmod(link, len(self.wafer.links))
        first = number * len(self.wafer.links)
        return [first + one for one in self.wafer.links_of_lines(own, offsets)]

    def ring_order(self, members: Sequence[int]) -> Sequence[int]:
        """Return the members wafer by wafer, on each in the order of a ring there."""
        order: list[int] = []
        for part in self.parts(members):
            placed = self.on_wafer(part.npus)
            own = placed.members
            own = self.wafer.ring_order(own) if len(own) > 1 else own
            order += [placed.nodes[npu] for npu in own]
        return order

    def layout(self) -> dict[int, tuple[float, float]]:
        """Return the wafers side by side, and the switches between them below, in pixels."""
        one = self.wafer.layout()
        wide = max(x for x, _ in one.values()) + 120
        below = max(y for _, y in one.values()) + 120
        place = {
            node: (one[local][0] + number * wide, one[local][1])
            for number, own in enumerate(self._nodes)
            for local, node in enumerate(own)
        }
        first = self.wafers * len(self.wafer.nodes)
        place |= {
            node: (60.0 + 60 * (node - first), below) for node in range(first, len(self.nodes))
        }
        return place

    def bisection_bytes_per_s(self) -> float:
        """Return the least cut between the first half of the wafers and the rest [B/s]."""
        names = [node.name for node in self.nodes[: self.npus]]
        half = self.wafers // 2 * self.wafer.npus
        return cuts.min_cut(self.graph(), names[:half], names[half:], "bytes_per_s")


def _times(node: Node) -> tuple[float, float, float]:
    return node.latency_s, node.preemption_s, node.sooner_s


class WafersFile(TopologyFile):
    """``kind: wafers``: equal wafers whose I/O controllers are joined.

    Parameters
    ----------
    wafer : str
        Topology of each wafer: a name such as `fred-d`, or the path of a topology file. A relative
        path starts from the folder of this file.
    wafers : int
        Number of wafers, with at most 65,536 NPUs in all. One wafer is not joined to anything.
    join : str
        Network between controllers of equal number: a `switch` that only routes, `fred` for
        switches that also reduce and multicast, a `ring`, or `fully_connected`.
    bytes_per_s : float
        Bandwidth of each controller to other wafers, in one direction [B/s], shared equally by its
        links. The default is the bandwidth of the controller on its wafer, 128 GB/s as published.
    latency_s : float
        Latency of each link between wafers, one direction [s].
    record : str
        Timing record of the switches of the join `fred`: a shipped record such as `l2-10`, or the
        path of a JSON file. If there are more wafers than ports, the switches form several levels.
        A link between two levels has the bandwidth of one controller, which unicasts of several
        controllers share.
    """

    kind: Annotated[str, one_of("wafers")]
    wafer: Annotated[str, Field(examples=["fred-d"])]
    wafers: Annotated[int, int_range(1, MAX_NPUS)]
    join: Annotated[str, one_of(*JOINS)] = "switch"
    bytes_per_s: Annotated[Rate | None, Field(examples=[256e9])] = None
    latency_s: Time = LINK_LATENCY_S
    record: str = "l2-10"
    protocol: Annotated[Protocol | None, Field(examples=["ideal"])] = None

    def build(self, name: str, base: Path | None = None) -> Topology:
        wafer = self._wafer(name, base)
        if wafer.endpoint is not None:
            message = f"must have no endpoint_record, which {self.wafer} has"
            raise InputError(name, "wafer", message)
        if self.wafers == 1:
            return wafer.called(name)
        if not wafer.io_nodes:
            raise InputError(name, "wafer", f"must have I/O controllers, as {self.wafer} has none")
        if (npus := self.wafers * wafer.npus) > MAX_NPUS:
            message = f"must have at most {MAX_NPUS} NPUs in all, not {npus}"
            raise InputError(name, "wafers", message)
        timing = None
        if self.join == "fred":
            timing = load_record(self.record, base, wafer.protocol, source=name, field="record")
        try:
            return WafersTopology(
                name=name,
                wafer=wafer,
                wafers=self.wafers,
                join=self.join,
                bytes_per_s=self.bytes_per_s,
                latency_s=self.latency_s,
                timing=timing,
            )
        except FieldError as error:
            raise InputError(name, error.field, error.message) from None

    def _wafer(self, name: str, base: Path | None) -> Topology:
        text = self.wafer
        said = parse.said_of(text)
        if said is None and text.endswith((*SUFFIXES, ".txt")):
            text = str((base or Path()) / text)
            kind = read_topology_file(Path(text)).kind
        else:
            kind = said["kind"] if said else ""
        if kind == "wafers":
            raise InputError(name, "wafer", f"must be one wafer, not {self.wafer!r} of several")
        try:
            return parse.parse_topology(text, self.protocol)
        except InputError as error:
            if error.source != "topology":
                raise
            raise InputError(name, "wafer", error.message) from None


def _read_name(text: str) -> Mapping[str, object] | None:
    found = re.fullmatch(r"wafers:([0-9]{1,9})x(.+)", text, re.IGNORECASE)
    return {"wafers": int(found[1]), "wafer": found[2]} if found else None


KINDS.add("wafers", Kind(WafersFile, ("wafers:COUNTxNAME",), _read_name), rank=4)
