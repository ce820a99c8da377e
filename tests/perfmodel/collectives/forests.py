"""Independent checks of trees and of who uses which link when."""

from collections.abc import Mapping, Sequence

from perfmodel.collectives.multitree import Edge, Forest

__all__ = ["check_forest", "check_slots"]

Ends = Mapping[int, tuple[int, int, int]]
"""Source, target and slots of each link."""


def check_forest(forest: Forest, members: Sequence[int], links: Ends) -> None:
    """Check that trees span the members, parents come first, and no link carries too much."""
    assert set(forest.trees) == set(members)
    for root, tree in forest.trees.items():
        ready = {root: 0}
        for edge in tree:
            assert edge.child not in ready
            assert ready[edge.parent] <= edge.step, (root, edge)
            check_path(edge, links)
            ready[edge.child] = edge.step + edge.slots
        assert set(ready) == set(members), root
    check_slots([edge for tree in forest.trees.values() for edge in tree], links)


def check_path(edge: Edge, links: Ends) -> None:
    """Check that the links of an edge lead from the parent to the child."""
    here = edge.parent
    for link in edge.links:
        source, target, slots = links[link]
        assert source == here and slots <= edge.slots
        here = target
    assert here == edge.child


def check_slots(edges: Sequence[Edge], links: Ends) -> None:
    """Check that in no slot edges take more of a link than it has."""
    used: dict[tuple[int, int], float] = {}
    for edge in edges:
        for slot in range(edge.step, edge.step + edge.slots):
            for link in edge.links:
                share = links[link][2] / edge.slots
                used[link, slot] = used.get((link, slot), 0.0) + share
    assert max(used.values(), default=0.0) <= 1 + 1e-6
