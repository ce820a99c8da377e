"""Tests of perfmodel.collectives.multitree."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from perfmodel.collectives.link_graph import graph_of, graph_of_neighbours
from perfmodel.collectives.multitree import grow
from perfmodel.collectives.single_port import with_single_ports
from perfmodel.topology.graph import Link
from perfmodel.topology.links import LinksTopology
from perfmodel.topology.parse import parse_topology
from tests.perfmodel.collectives.forests import check_forest, ends, random_network

PUBLISHED: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("multitree_schedules.json").read_text()
)["schedules"]

STEPS = {
    **{("torus:2x2", full): 2 for full in (False, True)},
    **{("torus:4x4", full): 5 for full in (False, True)},
    **{("torus:6x6", full): 10 for full in (False, True)},
    **{("torus:8x8", full): 17 for full in (False, True)},
    ("mesh:2x2", False): 2,
    ("mesh:4x4", False): 10,
    ("mesh:6x6", False): 19,
    ("mesh:8x8", False): 33,
    ("mesh:4x4", True): 8,
    ("mesh:6x6", True): 18,
    ("mesh:8x8", True): 32,
}
"""Steps of the public code, and of our schedules with slots that end when nothing can be added."""


def corner_first(kind: str, nodes: int) -> list[int]:
    """Return the order of roots after the first round, by the priorities of the public code."""
    side = round(nodes**0.5)
    far = [max(i // side, side - 1 - i // side) if kind == "mesh" else 0 for i in range(nodes)]
    return sorted(range(nodes), key=lambda i: (far[i], i), reverse=True)


@pytest.mark.parametrize(
    "case",
    PUBLISHED,
    ids=[f"{c['network']}-{c['nodes']}-{c['corner_first_after_first_round']}" for c in PUBLISHED],
)
def test_trees_are_those_of_the_public_code(case: dict[str, Any]) -> None:
    graph = graph_of_neighbours({int(node): links for node, links in case["links"].items()})
    if case["network"] == "dgx2":  # a switch: each node has one port
        graph = with_single_ports(graph)
    later = case["corner_first_after_first_round"]
    roots = corner_first(case["network"], case["nodes"]) if later else None
    forest = grow(graph, roots)
    assert forest.steps == case["steps"]
    found = {
        str(root): [[edge.child, edge.parent, edge.step] for edge in tree]
        for root, tree in forest.trees.items()
    }
    assert found == case["trees"]


@pytest.mark.parametrize(("name", "full"), STEPS)
def test_steps_of_grids(name: str, full: bool) -> None:
    graph = graph_of(parse_topology(name), range(parse_topology(name).npus))
    forest = grow(graph, full_slots=full)
    assert forest.steps == STEPS[name, full]
    nodes = len(graph.members)
    used = nodes * (nodes - 1) / (forest.steps * len(graph.arcs))
    assert forest.link_utilization == pytest.approx(used)
    check_forest(forest, graph.members, ends(graph))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("seed", range(100))
def test_trees_of_random_networks_span_and_share_no_link(seed: int, full: bool) -> None:
    rng = Random(seed)
    network = random_network(rng)
    members = rng.sample(range(network.npus), rng.randint(2, network.npus))
    graph = graph_of(network, members)
    for way in (graph, graph.reversed()):
        check_forest(grow(way, full_slots=full), members, ends(way))


@pytest.mark.parametrize("seed", range(30))
def test_slow_links_take_several_slots(seed: int) -> None:
    rng = Random(seed)
    network = random_network(rng, rates=(1e12, 5e11, 3.9e11, 1.05e12))
    graph = graph_of(network, range(network.npus))
    assert {arc.slots for arc in graph.arcs} <= {1, 2, 3}
    check_forest(grow(graph), graph.members, ends(graph))


def test_slots_of_a_link_follow_from_its_share_of_the_fastest_bandwidth() -> None:
    ways = ((0, 1, 1e11), (1, 0, 1e11), (0, 2, 8e11), (2, 1, 8e11), (1, 2, 8e11), (2, 0, 8e11))
    links = [Link(a, b, rate, 0.0) for a, b, rate in ways]
    network = LinksTopology(name="n", npus=2, switches=1, links=links)
    slots = {(arc.source, arc.target): arc.slots for arc in graph_of(network, (0, 1)).arcs}
    assert slots == {(0, 1): 8, (1, 0): 8, (0, 2): 1, (2, 1): 1, (1, 2): 1, (2, 0): 1}


def test_a_fast_link_carries_several_slow_paths_at_once() -> None:
    # Two NPUs on each of two switches; the switches are joined at twice the bandwidth.
    pairs = [(0, 4, 1e12), (1, 4, 1e12), (2, 5, 1e12), (3, 5, 1e12), (4, 5, 2e12)]
    links = [Link(*ends, rate, 0.0) for a, b, rate in pairs for ends in ((a, b), (b, a))]
    network = LinksTopology(name="n", npus=4, switches=2, links=links)
    graph = graph_of(network, range(4))
    forest = grow(graph)
    check_forest(forest, range(4), ends(graph))
    assert forest.steps == 6  # three chunks over the link of each NPU, of two slots each


@pytest.mark.parametrize("nodes", [16, 32, 64])
def test_a_switch_takes_a_step_for_each_other_node(nodes: int) -> None:
    """As with the public code, whose switch of 16 nodes, dgx2, takes 15 steps."""
    pairs = [(node, nodes) for node in range(nodes)]
    links = [Link(*ends, 1e12, 0.0) for a, b in pairs for ends in ((a, b), (b, a))]
    graph = graph_of(LinksTopology(name="n", npus=nodes, switches=1, links=links), range(nodes))
    forest = grow(graph)
    assert (forest.steps, forest.link_utilization) == (nodes - 1, 1.0)
    check_forest(forest, range(nodes), ends(graph))


def test_a_group_goes_through_npus_that_are_no_members() -> None:
    graph = graph_of(parse_topology("mesh:3x1"), (0, 2))
    forest = grow(graph)
    assert [len(edge.links) for edge in forest.trees[0]] == [2]
    check_forest(forest, (0, 2), ends(graph))


def test_members_that_are_cut_off_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^links must lead from each member of a graph to every"):
        grow(graph_of_neighbours({0: [1], 1: []}))
