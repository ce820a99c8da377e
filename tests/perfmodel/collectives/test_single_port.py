"""Tests of perfmodel.collectives.single_port."""

import pytest

from perfmodel.collectives.link_graph import graph_of
from perfmodel.collectives.multitree import grow
from perfmodel.collectives.single_port import with_single_ports
from perfmodel.topology.parse import parse_topology


@pytest.mark.parametrize(
    ("name", "full_slots", "steps"),
    [
        ("mesh:2x2", False, 3),
        ("mesh:4x4", False, 22),
        ("mesh:4x4", True, 21),
        ("mesh:5x4", True, 26),
    ],
)
def test_each_member_sends_and_receives_once_in_a_step(
    name: str, full_slots: bool, steps: int
) -> None:
    """The steps are ours; a member receives n - 1 chunks, one in a step, so n - 1 are the least."""
    topology = parse_topology(name, "ideal")
    members = range(topology.npus)
    graph = graph_of(topology, members)
    forest = grow(with_single_ports(graph), full_slots=full_slots)
    edges = [edge for tree in forest.trees.values() for edge in tree]
    assert len(edges) == len(members) * (len(members) - 1)
    assert forest.steps == steps >= len(members) - 1
    for end in ("parent", "child"):
        assert len({(edge.step, getattr(edge, end)) for edge in edges}) == len(edges)
    linked = {(arc.source, arc.target) for arc in graph.arcs}
    assert {(edge.parent, edge.child) for edge in edges} <= linked


def test_links_to_switches_are_refused() -> None:
    topology = parse_topology("mesh:2x2", "ideal")
    with pytest.raises(ValueError, match=r"^links must join members, not 2, 3$"):
        with_single_ports(graph_of(topology, (0, 1)))
