"""MultiTree: a spanning tree per member, with links assigned to the edges by time slot.

The trees grow together, one slot after the other, and no link is assigned twice in a slot. So all
trees can send at once, in lockstep, without waiting for each other (Huang et al., ISCA 2021, DOI
10.1109/ISCA52012.2021.00023).

A slot is the time of a chunk on the fastest link. A slower link takes several slots, and so does a
path over it, which leaves the rest of its faster links to others.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fred_hw.progress import count

from .link_graph import Arc, LinkGraph

__all__ = ["Edge", "Forest", "grow"]

_ROUNDING = 1e-9
"""Share of a link that counts as zero."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A tree edge: a link, or a path of links.

    Parameters
    ----------
    child, parent : int
        Members at its ends.
    step : int
        First time slot in which it carries the chunk of the tree.
    slots : int
        Slots that the chunk takes.
    links : tuple of int
        Links from the parent to the child.
    busy : int
        Slots in which they carry the chunk, if each carried it at its own bandwidth.
    """

    child: int
    parent: int
    step: int
    slots: int
    links: tuple[int, ...]
    busy: int


@dataclass(frozen=True)
class Forest:
    """The trees of all members.

    Parameters
    ----------
    trees : mapping of int to tuple of Edge
        Edges of the tree of each root, each after the one that leads to its parent.
    links : int
        Links of the network.
    """

    trees: Mapping[int, tuple[Edge, ...]]
    links: int

    @property
    def steps(self) -> int:
        """Number of time slots."""
        return max(edge.step + edge.slots for tree in self.trees.values() for edge in tree)

    @property
    def link_utilization(self) -> float:
        """Share of all links' slots in which a link carries a chunk."""
        used = sum(edge.busy for tree in self.trees.values() for edge in tree)
        return used / (self.steps * self.links)


def grow(
    graph: LinkGraph, roots: Sequence[int] | None = None, *, full_slots: bool = False
) -> Forest:
    """Grow the trees of all members, slot by slot.

    In each round of a slot every tree adds one member, tree after tree. Of the members that the
    tree had before the slot, in the order in which they were added, the first with free links to a
    new member becomes the parent. As in the published code a slot ends after the first round in
    which the last tree adds nothing.

    Parameters
    ----------
    graph : LinkGraph
        Members and links; each member reaches every other.
    roots : sequence of int or None
        Order of the trees after the first round; that of the members if None.
    full_slots : bool
        Let a slot end only when no tree can add a member. Meshes then need fewer slots.

    Raises
    ------
    ValueError
        A member cannot reach another.
    """
    if not graph.connected:
        raise ValueError("links must lead from each member of a graph to every other")
    trees = {root: _Tree(root, graph) for root in graph.members}
    first = list(trees.values()) if len(trees) > 1 else []
    rest = first if roots is None else [trees[root] for root in roots]
    links = _Links(graph)
    step, grown = 0, len(trees)
    order = first
    while grown < len(trees) ** 2:
        links.begin(step)
        for tree in order:
            tree.begin(step)
        while True:
            added = [tree.add(step, links) for tree in order]
            grown, order = grown + sum(added), rest
            if not (any(added) if full_slots else added[-1]):
                break
        step += 1
        count("members", grown, len(trees) ** 2)
    return Forest({root: tuple(tree.edges) for root, tree in trees.items()}, len(graph.arcs))


class _Links:
    """Shares of the links that tree edges occupy in the current slot."""

    def __init__(self, graph: LinkGraph) -> None:
        self.used = dict.fromkeys((arc.link for arc in graph.arcs), 0.0)
        self._ends: dict[int, list[tuple[int, float]]] = {}

    def begin(self, step: int) -> None:
        """Release the links of edges that have ended."""
        for link, share in self._ends.pop(step, ()):
            left = self.used[link] - share
            self.used[link] = left if left > _ROUNDING else 0.0

    def fit(self, arc: Arc, slots: int) -> bool:
        """Return whether a link can carry another chunk, spread over a number of slots from now."""
        return self.used[arc.link] + arc.slots / slots <= 1 + _ROUNDING

    def take(self, path: Sequence[Arc], step: int) -> int:
        """Assign links to an edge; return the number of slots that it takes."""
        slots = max(arc.slots for arc in path)
        ends = self._ends.setdefault(step + slots, [])
        for arc in path:
            share = arc.slots / slots
            self.used[arc.link] += share
            ends.append((arc.link, share))
        return slots


class _Tree:
    """A tree during construction."""

    def __init__(self, root: int, graph: LinkGraph) -> None:
        self._graph, self._members = graph, frozenset(graph.members)
        self.edges: list[Edge] = []
        self._missing = set(graph.members) - {root}
        self._coming = [(0, root)]  # members, with the slot from which each can be a parent
        # Links of each parent that may lead to a missing member, in the order of the tree.
        self._parents: list[tuple[Arc, ...]] = []
        self._passed: list[tuple[Arc, ...]] = []  # parents without a free link in this slot
        self._place = 0

    def begin(self, step: int) -> None:
        """Turn the members that have received the chunk by this slot into parents."""
        ready = [self._graph.outgoing[node] for slot, node in self._coming if slot <= step]
        self._coming = [one for one in self._coming if one[0] > step]
        self._parents = [*self._passed, *self._parents[self._place :], *ready]
        self._passed, self._place = [], 0

    def add(self, step: int, links: _Links) -> bool:
        """Add one member if links are free; return whether a member was added."""
        missing, members = self._missing, self._members
        while missing and self._place < len(self._parents):
            arcs = self._parents[self._place]
            if path := self._path(arcs, links):
                slots, child = links.take(path, step), path[-1].target
                missing.discard(child)
                numbers = tuple(arc.link for arc in path)
                busy = sum(arc.slots for arc in path)
                self.edges.append(Edge(child, path[0].source, step, slots, numbers, busy))
                self._coming.append((step + slots, child))
                return True
            # Within a slot links are only taken: a parent without a free link gets none later.
            self._place += 1
            useful = [arc for arc in arcs if arc.target in missing or arc.target not in members]
            if useful:
                self._passed.append(tuple(useful))
        return False

    def _path(self, arcs: Sequence[Arc], links: _Links) -> Sequence[Arc]:
        """Return the shortest path of free links to a missing member; empty if there is none."""
        missing, members, used = self._missing, self._members, links.used
        relayed = False
        for arc in arcs:
            if arc.target in missing:
                if not used[arc.link]:
                    return (arc,)
            elif arc.target not in members:
                relayed = True
        return self._relayed(arcs, links) if relayed else ()

    def _relayed(self, arcs: Sequence[Arc], links: _Links) -> list[Arc]:
        """Return the shortest such path through non-member nodes."""
        came: dict[int, tuple[Arc, int] | None] = {arcs[0].source: None}
        waiting = deque((arc, arc.slots) for arc in arcs)
        while waiting:
            arc, slots = waiting.popleft()
            target = arc.target
            if target in came or not links.fit(arc, slots):
                continue
            came[target] = (arc, slots)
            if target in self._missing:
                path = [arc]
                while before := came[path[-1].source]:
                    path.append(before[0])
                return path[::-1]
            if target not in self._members:
                for one in self._graph.outgoing[target]:
                    waiting.append((one, max(slots, one.slots)))
        return []
