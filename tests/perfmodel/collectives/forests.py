"""Independent checks of trees and of who uses which link when."""

from collections.abc import Mapping, Sequence
from random import Random

from perfmodel.collectives.link_graph import LinkGraph
from perfmodel.collectives.multitree import Edge, Forest
from perfmodel.collectives.synthesis import Move, Plan, Shard
from perfmodel.topology.graph import Link
from perfmodel.topology.links import LinksTopology

__all__ = ["Ends", "check_forest", "check_plan", "ends", "random_network"]

Ends = Mapping[int, tuple[int, int, int]]
"""Source, target and slots of each link."""


def ends(graph: LinkGraph) -> Ends:
    """Return source, target and slots of each link of a graph."""
    return {arc.link: (arc.source, arc.target, arc.slots) for arc in graph.arcs}


def check_forest(forest: Forest, members: Sequence[int], links: Ends) -> None:
    """Check that trees span the members, parents come first, and no link carries too much."""
    assert set(forest.trees) == set(members)
    for root, tree in forest.trees.items():
        ready = {root: 0}
        for edge in tree:
            assert edge.child not in ready
            assert ready[edge.parent] <= edge.step, (root, edge)
            check_path(edge.parent, edge.child, edge, links)
            ready[edge.child] = edge.step + edge.slots
        assert set(ready) == set(members), root
    check_slots([edge for tree in forest.trees.values() for edge in tree], links)


def check_plan(plan: Plan, shards: Sequence[Shard], members: Sequence[int], links: Ends) -> None:
    """Check that shards are sent where they are, reach all who need them, and share no link."""
    ready = {(shard.origin, number): 0 for number, shard in enumerate(shards)}
    for move in plan.moves:
        assert ready[move.source, move.shard] <= move.step, move
        assert (move.target, move.shard) not in ready, move
        check_path(move.source, move.target, move, links)
        ready[move.target, move.shard] = move.step + move.slots
    for number, shard in enumerate(shards):
        for member in members if shard.target is None else (shard.target,):
            assert (member, number) in ready, (member, shard)
    assert plan.steps == max(move.step + move.slots for move in plan.moves)
    check_slots(plan.moves, links)


def check_path(source: int, target: int, one: Edge | Move, links: Ends) -> None:
    """Check that links lead from one node to another and take no more slots than planned."""
    here = source
    for link in one.links:
        first, last, slots = links[link]
        assert first == here and slots <= one.slots
        here = last
    assert here == target


def check_slots(planned: Sequence[Edge | Move], links: Ends) -> None:
    """Check that in no slot more of a link is taken than it has."""
    used: dict[tuple[int, int], float] = {}
    for one in planned:
        for slot in range(one.step, one.step + one.slots):
            for link in one.links:
                share = links[link][2] / one.slots
                used[link, slot] = used.get((link, slot), 0.0) + share
    assert max(used.values(), default=0.0) <= 1 + 1e-6


def random_network(rng: Random, *, rates: tuple[float, ...] = (1e12,)) -> LinksTopology:
    """Return a strongly connected network: one ring through all nodes, and some links more."""
    npus, switches = rng.randint(2, 12), rng.randint(0, 4)
    order = rng.sample(range(npus + switches), npus + switches)
    pairs = dict.fromkeys(zip(order, [*order[1:], order[0]], strict=True))
    for _ in range(rng.randint(0, 3 * npus)):
        here, there = rng.sample(order, 2)
        pairs[here, there] = None
    links = [Link(a, b, rng.choice(rates), 1e-8) for a, b in pairs]
    return LinksTopology(name="random", npus=npus, switches=switches, links=links)
