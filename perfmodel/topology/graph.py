"""The graph of a wafer: nodes, directed links, and the latency of a route."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Any, Literal, Self

from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.switch_timing.record import ProtocolModel

from . import cuts
from .block import BlockKind

__all__ = ["Dimension", "Hops", "Interconnect", "Link", "Node", "Topology"]

Hops = tuple[tuple[int, tuple[int, ...]], ...]
"""Links that a transfer crosses: each a link index and the positions of the hops before it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A place where links meet.

    Parameters
    ----------
    name : str
        Readable and unique: ``npu_0``, ``l1_2``, ``l2``, ``io_3``.
    kind : str
        npu, switch or io.
    latency_s : float
        From the head of a message coming in to its head going out [s]; of an NPU that of the router
        beside it, which what begins or ends there crosses too, 0 without one.
    preemption_s : float
        What an urgent message waits for at most until it goes before others [s].
    sooner_s : float
        What a unicast takes less in a switch where its path has stayed [s].
    """

    name: str
    kind: Literal["npu", "switch", "io"]
    latency_s: float = 0.0
    preemption_s: float = 0.0
    sooner_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Interconnect:
    """What is inside a switch: how many flows have a path at once depends on it.

    Parameters
    ----------
    ports, middle_switches : int
        Those of FRED_m(P).
    ports_of : mapping
        Ports by the node at the other end of their link.
    bytes_per_s : float
        Payload that one round of flows gets through all chiplets of the switch [B/s].
    """

    ports: int
    middle_switches: int
    ports_of: Mapping[int, range]
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Link:
    """A directed link.

    Parameters
    ----------
    source, target : int
        Indices of the nodes at its ends.
    bytes_per_s : float
        Raw bandwidth [B/s].
    latency_s : float
        Time of flight of the head [s].
    efficiency : float
        Share of the bandwidth that is left for payload, from the records of its ends.
    """

    source: int
    target: int
    bytes_per_s: float
    latency_s: float
    efficiency: float = 1.0

    @property
    def payload_bytes_per_s(self) -> float:
        """Bandwidth that is left for payload [B/s]."""
        return self.bytes_per_s * self.efficiency


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension along which NPUs lie.

    Parameters
    ----------
    npus, stride : int
        NPUs in a line along it, and how far apart their numbers are.
    kind : str
        What joins the NPUs of a line: ``ring``, ``fully_connected``, ``switch``, or ``line`` for
        neighbours without the link that closes a ring.
    bytes_per_s : float
        Payload bandwidth of each link, one direction [B/s]: between neighbours, between two NPUs
        that are fully connected, or from an NPU to its switch.
    """

    npus: int
    stride: int
    kind: BlockKind | Literal["line"]
    bytes_per_s: float

    def place(self, npu: int) -> int:
        """Return the place of an NPU along it."""
        return npu // self.stride % self.npus

    def npu_bytes_per_s(self, members: int) -> float:
        """Return the bandwidth of an NPU along it for a collective of some in a line [B/s].

        That is the sum over its links, except in a line without wrap-around: the one link of the
        NPU at the end bounds all.
        """
        links = {"ring": min(2, members - 1), "fully_connected": members - 1}
        return self.bytes_per_s * links.get(self.kind, 1)


class Topology(ABC):
    """Nodes and directed links of a wafer, and its routes.

    Parameters
    ----------
    name : str
        As the user wrote it.
    nodes : sequence of Node
        NPUs first, so that NPU number i is node i.
    links : sequence of Link
        Those from a node to another; several of them are parallel.
    provenance : Provenance
        Timing records and assumptions in the numbers.
    protocol : str
        One of ``timing.PROTOCOL_MODELS``: which of them the numbers are of.
    """

    def __init__(
        self,
        name: str,
        nodes: Sequence[Node],
        links: Sequence[Link],
        provenance: Provenance,
        protocol: ProtocolModel,
    ) -> None:
        self.name = name
        self.nodes = tuple(nodes)
        self.links = tuple(links)
        self.provenance = provenance
        self.protocol: ProtocolModel = protocol

    @property
    @abstractmethod
    def in_network(self) -> bool:
        """Whether the switches reduce and multicast."""

    @abstractmethod
    def hops(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return the links from the nodes ``sources``, joined, to the nodes ``targets``, forked.

        Raises
        ------
        ValueError
            The topology cannot carry such a transfer.
        """

    multicast: str = ""
    """How messages fork on their way to several targets, in words; empty if they cannot."""

    adds: bool = True
    """Whether contributions to a stream to an I/O controller are added up on their way."""

    fork_assumptions: tuple[str, ...] = ()
    """What a multicast takes for granted."""

    stream_assumptions: Mapping[str, str] = MappingProxyType({})
    """What trees between I/O controllers and NPUs take for granted, by ``streaming.STREAMS``."""

    grid: tuple[int, int] | None = None
    """NPUs in a row and in a column, numbered row by row, where neighbours are linked."""

    dimensions: tuple[Dimension, ...] = ()
    """Dimensions whose lines have links of their own, the innermost first; empty if it has none."""

    @property
    def scheduling_dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions that chunks of a collective may take in any order, the innermost first.

        Those of ``dimensions``, or where these are none levels that share links of NPUs; empty if
        the topology has neither.
        """
        return self.dimensions

    npu_rates: Mapping[str, Any] = MappingProxyType({})
    """Rates and memory of an NPU by their names in ``training.compute.Npu``; others by default."""

    def with_npu(self, rates: Mapping[str, Any]) -> Self:
        """Return the topology with NPUs of which some rates are others, or itself without any."""
        if not rates:
            return self
        shares = {**self.npu_rates.get("efficiency", {}), **rates.get("efficiency", {})}
        other = copy(self)
        other.npu_rates = {**self.npu_rates, **rates, **({"efficiency": shares} if shares else {})}
        return other

    network_options: Mapping[str, Any] = MappingProxyType({})
    """Parameters of network models by the name of the model; its own by default."""

    def with_network_options(self, model: str, options: Any) -> Self:
        """Return the topology with parameters of a network model."""
        other = copy(self)
        other.network_options = {**self.network_options, model: options}
        return other

    def called(self, name: str) -> Self:
        """Return the topology under another name, or itself if that is its own."""
        if name == self.name:
            return self
        other = copy(self)
        other.name = name
        return other

    switch_of: Mapping[int, int] = MappingProxyType({})
    """Switch that an NPU or an I/O controller hangs on, where it hangs on one."""

    sooner_cycles: int = 0
    """What a packet takes less in a router of a mesh where its path has stayed [cycles]."""

    message_cycles: int | None = None
    """What an ack takes in a router of a mesh [cycles]; None if there are switches."""

    inside_cycles: int = 0
    """What a flit takes through the interconnect of a switch [cycles]."""

    single_ports: bool = False
    """Whether nodes are linked by one port or less, so that unicasts alone may go by packets."""

    neighbours_matter: bool = False
    """Whether it matters for the time who is next to whom, so that placements are searched."""

    interconnects: Mapping[int, Interconnect] = MappingProxyType({})
    """What is inside the switches that join or fork flows, by their nodes."""

    endpoint: EndpointTiming | None = None
    """What endpoints of NPUs take, where it is known."""

    waits_for_acks: bool = False
    """Whether a source waits for acks before it sends to others, as the link layer asks."""

    def port_of(self, link: int) -> int:
        """Return the place of a link among the ports of what it ends at, in their order.

        NPUs stand before other switches.
        """
        return self.links[link].source

    @abstractmethod
    def layout(self) -> dict[int, tuple[float, float]]:
        """Return where to draw each node, in pixels from the left and from above."""

    def ring_order(self, members: Sequence[int]) -> Sequence[int]:
        """Return the order in which a logical ring visits a group, the first of it first.

        Members of one switch stand together, so that a ring leaves each switch once.
        """
        switches: dict[int, int] = {}
        for member in members:
            switches.setdefault(self.switch_of.get(member, -1), len(switches))
        return sorted(members, key=lambda member: switches[self.switch_of.get(member, -1)])

    def reduction_hops(self, sources: Sequence[int], io: int) -> Hops:
        """Return the links from NPUs, joined, to an I/O controller.

        Raises
        ------
        ValueError
            The topology cannot carry such a transfer.
        """
        return self.hops(sources, (io,))

    @abstractmethod
    def bisection_bytes_per_s(self) -> float:
        """Return the bandwidth between the halves of the wafer, one direction [B/s]."""

    @cached_property
    def npus(self) -> int:
        """Number of NPUs."""
        return sum(node.kind == "npu" for node in self.nodes)

    @cached_property
    def io_controllers(self) -> int:
        """Number of I/O controllers."""
        return sum(node.kind == "io" for node in self.nodes)

    @cached_property
    def io_nodes(self) -> tuple[int, ...]:
        """Nodes of the I/O controllers."""
        return tuple(i for i, node in enumerate(self.nodes) if node.kind == "io")

    @cached_property
    def capacities(self) -> tuple[float, ...]:
        """Payload bandwidth of each link [B/s], then of each node where flows take rounds."""
        links = [link.payload_bytes_per_s for link in self.links]
        inside = self.interconnects
        nodes = range(len(self.nodes))
        return (*links, *(inside[i].bytes_per_s if i in inside else inf for i in nodes))

    @cached_property
    def sent_bytes_per_s(self) -> tuple[float, ...]:
        """Payload bandwidth of the links from each NPU to NPUs and switches, together [B/s]."""
        return self._summed((link.source, link.target, link) for link in self.links)

    @cached_property
    def received_bytes_per_s(self) -> tuple[float, ...]:
        """Payload bandwidth of the links to each NPU from NPUs and switches, together [B/s]."""
        return self._summed((link.target, link.source, link) for link in self.links)

    def _summed(self, ends: Iterable[tuple[int, int, Link]]) -> tuple[float, ...]:
        found = [0.0] * self.npus
        for here, there, link in ends:
            if here < self.npus and self.nodes[there].kind != "io":
                found[here] += link.payload_bytes_per_s
        return tuple(found)

    def turns_index(self, node: int) -> int:
        """Return the index in ``capacities`` of the rounds of flows in a switch."""
        return len(self.links) + node

    def latency_s(self, hops: Hops, *, urgent: bool = False) -> float:
        """Return the latency of the longest route through ``hops`` [s], with its switches.

        One that is ``urgent`` waits in each until others give way.
        """
        nodes, links, last_s = self.nodes, self.links, 0.0
        heads: list[float] = []
        for index, before in hops:
            link = links[index]
            node, end = nodes[link.source], nodes[link.target]
            head_s = 0.0
            if len(before) == 1:
                head_s = heads[before[0]]
            elif before:
                head_s = max([heads[hop] for hop in before])
            head_s += node.latency_s + node.preemption_s if urgent else node.latency_s
            head_s += link.latency_s
            heads.append(head_s)
            if end.kind == "npu":
                head_s += end.latency_s + end.preemption_s if urgent else end.latency_s
            if head_s > last_s:
                last_s = head_s
        return last_s

    @cached_property
    def link_index(self) -> dict[tuple[int, int], int]:
        """Index of the link between two nodes, the first of several."""
        found: dict[tuple[int, int], int] = {}
        for index, link in enumerate(self.links):
            found.setdefault((link.source, link.target), index)
        return found

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Index of the node of a name."""
        return {node.name: i for i, node in enumerate(self.nodes)}

    def link_ends(self, index: int) -> tuple[str, str]:
        """Return the kinds of the nodes at the ends of a link, in alphabetical order."""
        link = self.links[index]
        first, second = sorted((self.nodes[link.source].kind, self.nodes[link.target].kind))
        return first, second

    def link_name(self, index: int) -> str:
        """Return a link in words, ``npu_0 -> l1_0``; or where flows take turns, ``l1_0 turns``."""
        if index >= len(self.links):
            return f"{self.nodes[index - len(self.links)].name} turns"
        link = self.links[index]
        return f"{self.nodes[link.source].name} -> {self.nodes[link.target].name}"

    def distances(self, sources: Sequence[int], targets: Sequence[int]) -> list[list[int]]:
        """Return the least number of links from each of some nodes to each of others."""
        graph, names = self.graph(), [node.name for node in self.nodes]
        found = [cuts.distances(graph, names[source]) for source in sources]
        return [[one[names[target]] for target in targets] for one in found]

    def graph(self) -> cuts.DiGraph:
        """Return the same as a ``networkx.DiGraph`` by node name, for analysis and drawing."""
        nodes = [
            (node.name, {"kind": node.kind, "latency_s": node.latency_s}) for node in self.nodes
        ]
        edges = [
            (
                self.nodes[link.source].name,
                self.nodes[link.target].name,
                {
                    "bytes_per_s": link.bytes_per_s,
                    "latency_s": link.latency_s,
                    "efficiency": link.efficiency,
                },
            )
            for link in self.links
        ]
        return cuts.digraph(nodes, edges)
