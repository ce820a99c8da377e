"""The graph of a wafer: nodes, directed links, and the latency of a route."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.switch_timing.record import ProtocolModel

from . import cuts
from .block import Dimension
from .interconnect import Interconnect

__all__ = ["Hops", "Link", "Node", "OnWafer", "Part", "Topology"]

Hops = tuple[tuple[int, tuple[int, ...]], ...]
"""Links that a transfer crosses: each a link index and the positions of the preceding hops."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph, at which links meet.

    Parameters
    ----------
    name : str
        Readable and unique: ``npu_0``, ``l1_2``, ``l2``, ``io_3``.
    kind : str
        npu, switch or io.
    latency_s : float
        Time from the arrival of a message's head to its departure [s]. For an NPU it is the latency
        of its router, which messages that start or end there also cross; 0 without a router.
    preemption_s : float
        Longest wait of an urgent message until it overtakes others [s].
    sooner_s : float
        Time that a unicast saves in a switch where its path is still set up [s].
    """

    name: str
    kind: Literal["npu", "switch", "io"]
    latency_s: float = 0.0
    preemption_s: float = 0.0
    sooner_s: float = 0.0


class Link(NamedTuple):
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
        """Bandwidth available for payload [B/s]."""
        return self.bytes_per_s * self.efficiency


@dataclass(frozen=True, slots=True)
class Part:
    """The members of a group on one wafer.

    Parameters
    ----------
    npus : tuple of int
        The members, in the order of the group.
    io_nodes : tuple of int
        Nodes of the I/O controllers of this wafer.
    """

    npus: tuple[int, ...]
    io_nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OnWafer:
    """A group as seen on the wafer that holds all of it, or on the whole topology if none does.

    Parameters
    ----------
    topology : Topology
        The wafer alone, or the whole topology.
    members : tuple of int
        Nodes of the group, by their numbers in ``topology``.
    nodes : sequence of int
        Node of the whole topology by the number of the node in ``topology``.
    first_link : int
        Index of the first link of ``topology`` among the links of the whole.
    """

    topology: "Topology"
    members: tuple[int, ...]
    nodes: Sequence[int]
    first_link: int

    def hops(self, hops: Hops) -> Hops:
        """Return links of ``topology`` as links of the whole topology.

        Parameters
        ----------
        hops : tuple of (int, tuple of int)
            Index of each link in ``topology``, and the positions of the preceding hops.

        Returns
        -------
        tuple of (int, tuple of int)
            The same with indices in the whole topology; the positions are unchanged.
        """
        return tuple((self.first_link + link, before) for link, before in hops)


class Topology(ABC):
    """Nodes and directed links of a wafer, and its routes.

    Parameters
    ----------
    name : str
        Name given by the user.
    nodes : sequence of Node
        NPUs first, so that NPU number i is node i.
    links : sequence of Link
        Links between nodes; there may be several parallel links.
    provenance : Provenance
        Timing records and assumptions in the numbers.
    protocol : str
        One of ``timing.PROTOCOL_MODELS``: the protocol model of the numbers.
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
        """Return the links from the nodes ``sources`` (joined) to the nodes ``targets`` (forked).

        Raises
        ------
        ValueError
            The topology cannot carry such a transfer.
        """

    multicast: str = ""
    """How switches copy messages to several targets, as text; empty if they cannot."""

    adds: bool = True
    """Whether contributions to an I/O controller are summed in the network."""

    fork_assumptions: tuple[str, ...] = ()
    """Assumptions of a multicast."""

    stream_assumptions: Mapping[str, str] = MappingProxyType({})
    """Assumptions of trees between I/O controllers and NPUs, by ``streaming.STREAMS``."""

    grid: tuple[int, int] | None = None
    """Number of NPUs per row and per column if neighbours of a grid are linked, numbered by row."""

    dimensions: tuple[Dimension, ...] = ()
    """Dimensions whose lines have separate links, the innermost first; empty if there are none."""

    @property
    def scheduling_dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions that chunks of a collective can visit in any order, the innermost first.

        They are those of ``dimensions``, or else levels that share links of NPUs; empty if the
        topology has neither.
        """
        return self.dimensions

    lines_alike: bool = False
    """Whether each line of NPUs along a dimension has links of its own, which are all alike."""

    def links_of_lines(self, link: int, offsets: Iterable[int]) -> list[int]:
        """Return the same link of other lines, where all lines have equal links of their own.

        Parameters
        ----------
        link : int
            Link of a line along one dimension.
        offsets : iterable of int
            Difference between the numbers of the NPUs in each other line and in this line.
        """
        one, index = self.links[link], self.link_index
        return [index[one.source + offset, one.target + offset] for offset in offsets]

    npu_rates: Mapping[str, Any] = MappingProxyType({})
    """Rates and memory of an NPU, keyed as in ``training.compute.Npu``; others have defaults."""

    def with_npu(self, rates: Mapping[str, Any]) -> Self:
        """Return the topology with changed NPU rates, or itself without changes."""
        if not rates:
            return self
        shares = {**self.npu_rates.get("efficiency", {}), **rates.get("efficiency", {})}
        other = copy(self)
        other.npu_rates = {**self.npu_rates, **rates, **({"efficiency": shares} if shares else {})}
        return other

    network_options: Mapping[str, Any] = MappingProxyType({})
    """Parameters of network models by model name; missing models use their defaults."""

    def with_network_options(self, model: str, options: Any) -> Self:
        """Return the topology with given parameters of a network model."""
        other = copy(self)
        other.network_options = {**self.network_options, model: options}
        return other

    def called(self, name: str) -> Self:
        """Return the topology under another name, or itself if the name is unchanged."""
        if name == self.name:
            return self
        other = copy(self)
        other.name = name
        return other

    switch_of: Mapping[int, int] = MappingProxyType({})
    """Switch that each NPU or I/O controller is attached to, if there is one."""

    sooner_cycles: int = 0
    """Latency that a packet saves in a mesh router if it follows on the same path [cycles]."""

    message_cycles: int | None = None
    """Latency of an ack through a mesh router [cycles]; None if there are switches."""

    inside_cycles: int = 0
    """Latency of a flit through the interconnect of a switch [cycles]."""

    single_ports: bool = False
    """Whether no link is wider than one port, as packet-level unicasts require."""

    neighbours_matter: bool = False
    """Whether the distance between NPUs matters, so that placements are searched."""

    interconnects: Mapping[int, Interconnect] = MappingProxyType({})
    """Interiors of the switches that join or fork flows, keyed by node."""

    endpoint: EndpointTiming | None = None
    """Timing of the NPUs' endpoints; None if unknown."""

    waits_for_acks: bool = False
    """Whether a source waits for acks before it sends to other targets, as the link layer
    requires."""

    wafers: int = 1
    """Number of equal wafers."""

    between: str = ""
    """How I/O controllers of several wafers are joined, see ``wafers.JOINS``; empty for one."""

    @property
    def wafer(self) -> "Topology | None":
        """Each of the equal wafers of the topology; None if it is a single network."""
        return None

    def parts(self, npus: Sequence[int]) -> Sequence[Part]:
        """Return a ``Part`` for each wafer with members of a group, that of the first one first."""
        return [Part(tuple(npus), self.io_nodes)]

    def on_wafer(self, nodes: Sequence[int]) -> OnWafer:
        """Return a group of NPUs and I/O controllers as seen on the wafer that holds all of it.

        It is seen on the topology itself if this is no set of wafers, or the group spans several.
        """
        return OnWafer(self, tuple(nodes), range(len(self.nodes)), 0)

    def port_of(self, link: int) -> int:
        """Return the position of a link among the ports of its end node.

        NPUs stand before other switches.
        """
        return self.links[link].source

    @abstractmethod
    def layout(self) -> dict[int, tuple[float, float]]:
        """Return the position of each node in a drawing, in pixels from the top left."""

    def ring_order(self, members: Sequence[int]) -> Sequence[int]:
        """Return the order in which a logical ring visits a group, starting with its first member.

        Members of one switch stand together, so that a ring leaves each switch once.
        """
        switches: dict[int, int] = {}
        for member in members:
            switches.setdefault(self.switch_of.get(member, -1), len(switches))
        return sorted(members, key=lambda member: switches[self.switch_of.get(member, -1)])

    def reduction_hops(self, sources: Sequence[int], io: int) -> Hops:
        """Return the links of a reduction from NPUs to an I/O controller.

        Raises
        ------
        ValueError
            The topology cannot carry such a transfer.
        """
        return self.hops(sources, (io,))

    @abstractmethod
    def bisection_bytes_per_s(self) -> float:
        """Return the bandwidth between the halves of the wafer in one direction [B/s]."""

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
        """Node numbers of the I/O controllers."""
        return tuple(i for i, node in enumerate(self.nodes) if node.kind == "io")

    @cached_property
    def capacities(self) -> tuple[float, ...]:
        """Payload bandwidth of each link [B/s], followed by each node where flows take rounds."""
        links = [link.payload_bytes_per_s for link in self.links]
        inside = self.interconnects
        nodes = range(len(self.nodes))
        return (*links, *(inside[i].bytes_per_s if i in inside else inf for i in nodes))

    @cached_property
    def sent_bytes_per_s(self) -> tuple[float, ...]:
        """Total payload bandwidth of the links on which each NPU sends to other NPUs [B/s]."""
        return self._summed((link.source, link.target, link) for link in self.links)

    @cached_property
    def received_bytes_per_s(self) -> tuple[float, ...]:
        """Total payload bandwidth of the links on which each NPU receives from others [B/s]."""
        return self._summed((link.target, link.source, link) for link in self.links)

    def _summed(self, ends: Iterable[tuple[int, int, Link]]) -> tuple[float, ...]:
        found = [0.0] * self.npus
        by_controllers = self.wafer is not None  # messages between wafers cross I/O controllers
        for here, there, link in ends:
            if here < self.npus and (by_controllers or self.nodes[there].kind != "io"):
                found[here] += link.payload_bytes_per_s
        return tuple(found)

    def rounds_index(self, node: int) -> int:
        """Return the index in ``capacities`` of the successive rounds of flows in a switch."""
        return len(self.links) + node

    def latency_s(self, hops: Hops, *, urgent: bool = False) -> float:
        """Return the latency of the longest route through ``hops``, including switches [s].

        One that is ``urgent`` waits in each until others give way.
        """
        steps_s, last_s = self._steps_s[urgent], 0.0
        heads: list[float] = []
        for index, before in hops:
            node_s, link_s, end_s = steps_s[index]
            head_s = 0.0
            if len(before) == 1:
                head_s = heads[before[0]]
            elif before:
                head_s = max([heads[hop] for hop in before])
            head_s += node_s
            head_s += link_s
            heads.append(head_s)
            head_s += end_s
            if head_s > last_s:
                last_s = head_s
        return last_s

    @cached_property
    def _steps_s(self) -> tuple[list[tuple[float, float, float]], ...]:
        """Latency of what each link leaves, of itself and of the NPU that it ends at, if any [s].

        First of what is not urgent, then of what is.
        """
        nodes_s = [(one.latency_s, one.latency_s + one.preemption_s) for one in self.nodes]
        ends_s = [
            own if one.kind == "npu" else (0.0, 0.0)
            for one, own in zip(self.nodes, nodes_s, strict=True)
        ]
        return tuple(
            [(nodes_s[a][urgent], late_s, ends_s[b][urgent]) for a, b, _, late_s, _ in self.links]
            for urgent in (False, True)
        )

    @cached_property
    def link_index(self) -> dict[tuple[int, int], int]:
        """Index of the link between two nodes, the first if there are several."""
        found: dict[tuple[int, int], int] = {}
        for index, link in enumerate(self.links):
            found.setdefault((link.source, link.target), index)
        return found

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Index of the node with a given name."""
        return {node.name: i for i, node in enumerate(self.nodes)}

    def link_ends(self, index: int) -> tuple[str, str]:
        """Return the kinds of a link's end nodes, in alphabetical order."""
        link = self.links[index]
        first, second = sorted((self.nodes[link.source].kind, self.nodes[link.target].kind))
        return first, second

    def link_name(self, index: int) -> str:
        """Return a link as text, ``npu_0 -> l1_0``; or ``l1_0 rounds`` for a switch's rounds."""
        if index >= len(self.links):
            return f"{self.nodes[index - len(self.links)].name} rounds"
        link = self.links[index]
        return f"{self.nodes[link.source].name} -> {self.nodes[link.target].name}"

    def distances(self, sources: Sequence[int], targets: Sequence[int]) -> list[list[int]]:
        """Return the least number of links between nodes of two sets."""
        graph, names = self.graph(), [node.name for node in self.nodes]
        found = [cuts.distances(graph, names[source]) for source in sources]
        return [[one[names[target]] for target in targets] for one in found]

    def graph(self) -> cuts.DiGraph:
        """Return the topology as a ``networkx.DiGraph`` by node name, for analysis and drawing."""
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
