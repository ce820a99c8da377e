"""Links between the members of a group, for algorithms that assign links to messages."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from perfmodel.topology.block import Dimension
from perfmodel.topology.graph import Hops, Topology

__all__ = ["Arc", "LinkGraph", "chain", "graph_of", "graph_of_neighbours"]

_LONGER = 1.1
"""Factor by which a time slot may exceed the time of a chunk on the fastest link, so that links of
almost the same bandwidth take the same number of slots."""


@dataclass(frozen=True, slots=True)
class Arc:
    """A directed link.

    Parameters
    ----------
    link : int
        Its index in the topology.
    source, target : int
        Nodes at its ends.
    slots : int
        Time slots that one chunk occupies it: 1 on the fastest link, 2 at half of its bandwidth.
    """

    link: int
    source: int
    target: int
    slots: int = 1


@dataclass(frozen=True)
class LinkGraph:
    """The links over which the members of a group can reach each other.

    Other NPUs and switches only forward messages.

    Parameters
    ----------
    members : tuple of int
        Nodes of the group.
    arcs : tuple of Arc
        All links.
    outgoing : mapping of int to tuple of Arc
        Links that leave each node, in the order in which algorithms try them.
    rank : callable
        Sort key of this order; also used for the reversed graph.
    """

    members: tuple[int, ...]
    arcs: tuple[Arc, ...]
    outgoing: Mapping[int, tuple[Arc, ...]]
    rank: Callable[[Arc], tuple[int, ...]]

    def reversed(self) -> "LinkGraph":
        """Return the graph with every link reversed; links keep their indices."""
        arcs = [Arc(arc.link, arc.target, arc.source, arc.slots) for arc in self.arcs]
        return _graph(self.members, self.outgoing, sorted(arcs, key=self.rank), self.rank)

    @property
    def connected(self) -> bool:
        """Whether each member can reach every other."""
        found = (graph.distances(self.members[0]) for graph in (self, self.reversed()))
        return all(set(self.members) <= reached.keys() for reached in found)

    def distances(self, source: int) -> dict[int, int]:
        """Return the least number of links from a node to each node that it can reach."""
        found = {source: 0}
        waiting = deque([source])
        while waiting:
            node = waiting.popleft()
            for arc in self.outgoing[node]:
                if arc.target not in found:
                    found[arc.target] = found[node] + 1
                    waiting.append(arc.target)
        return found


def graph_of(topology: Topology, members: Sequence[int]) -> LinkGraph:
    """Return the links of a topology, without those of I/O controllers.

    Neighbours are tried from the outermost dimension to the innermost, the lower one first: on a
    mesh in the order above, below, left, right.

    Parameters
    ----------
    topology : Topology
        Nodes and links.
    members : sequence of int
        NPUs of the group.
    """
    nodes = [i for i, node in enumerate(topology.nodes) if node.kind != "io"]
    inside = set(nodes)
    links = [
        (number, link)
        for number, link in enumerate(topology.links)
        if link.source in inside and link.target in inside
    ]
    fastest = max((link.payload_bytes_per_s for _, link in links), default=0.0)
    arcs = [
        Arc(
            number,
            link.source,
            link.target,
            max(1, ceil(fastest / link.payload_bytes_per_s / _LONGER)),
        )
        for number, link in links
    ]
    rank = _rank(topology)
    return _graph(members, nodes, sorted(arcs, key=rank), rank)


def chain(links: Sequence[int]) -> Hops:
    """Return the route over successive links."""
    return tuple((link, (place - 1,) if place else ()) for place, link in enumerate(links))


def graph_of_neighbours(neighbours: Mapping[int, Sequence[int]]) -> LinkGraph:
    """Return the graph of nodes that are all members, with links of equal bandwidth.

    Parameters
    ----------
    neighbours : mapping of int to sequence of int
        Targets of the links of each node, in the order in which algorithms try them.
    """
    ends = [(source, target) for source, targets in neighbours.items() for target in targets]
    arcs = [Arc(number, *pair) for number, pair in enumerate(ends)]
    places = {pair: place for place, pair in enumerate(ends)}

    def rank(arc: Arc) -> tuple[int, ...]:
        return (places.get((arc.source, arc.target), len(places)), arc.target)

    return _graph(tuple(neighbours), neighbours, arcs, rank)


def _rank(topology: Topology) -> Callable[[Arc], tuple[int, ...]]:
    """Return the position of a link among the links that leave its source."""
    dimensions = topology.dimensions
    if topology.grid is not None:
        columns, rows = topology.grid
        dimensions = tuple(
            Dimension(count, stride, "line", 0.0)
            for count, stride in ((columns, 1), (rows, columns))
        )

    def rank(arc: Arc) -> tuple[int, ...]:
        if arc.source < topology.npus and arc.target < topology.npus:
            for number in reversed(range(len(dimensions))):
                one = dimensions[number]
                here, there = one.place(arc.source), one.place(arc.target)
                if here != there:
                    return (-number, (there - here) % one.npus != one.npus - 1, arc.target)
        return (1, 0, arc.target)

    return rank


def _graph(
    members: Sequence[int],
    nodes: Iterable[int],
    arcs: Iterable[Arc],
    rank: Callable[[Arc], tuple[int, ...]],
) -> LinkGraph:
    arcs = tuple(arcs)
    outgoing: dict[int, list[Arc]] = {node: [] for node in nodes}
    for arc in arcs:
        outgoing[arc.source].append(arc)
    ordered = {node: tuple(leaving) for node, leaving in outgoing.items()}
    return LinkGraph(tuple(members), arcs, ordered, rank)
