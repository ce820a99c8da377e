"""Tests of perfmodel.collectives.synthesis."""

from random import Random

import pytest

from perfmodel.collectives.link_graph import graph_of, graph_of_neighbours
from perfmodel.collectives.synthesis import Shard, synthesize
from perfmodel.topology.parse import parse_topology
from tests.perfmodel.collectives.forests import check_plan, ends, random_network


def shards_of(pattern: str, members: list[int]) -> list[Shard]:
    if pattern == "all_to_all":
        return [Shard(one, other) for one in members for other in members if one != other]
    return [Shard(one) for one in (members if pattern == "all_gather" else members[:1] * 3)]


@pytest.mark.parametrize("pattern", ["all_gather", "broadcast", "all_to_all"])
@pytest.mark.parametrize("seed", range(40))
def test_plans_for_groups_of_random_networks_bring_all_data(seed: int, pattern: str) -> None:
    rng = Random(seed)
    network = random_network(rng, rates=(1e12,) if seed % 2 else (1e12, 5e11, 3.9e11))
    members = rng.sample(range(network.npus), rng.randint(2, network.npus))
    graph, shards = graph_of(network, members), shards_of(pattern, members)
    for way in (graph, graph.reversed()):
        check_plan(synthesize(way, shards, (seed,)), shards, members, ends(way))


@pytest.mark.parametrize(
    ("name", "steps"),
    # At best a link of a torus carries (N - 1) / 4 shards, and one to a corner of a mesh half of
    # all but one.
    [("torus:2x2", 2), ("torus:4x4", 4), ("torus:8x8", 16), ("mesh:4x4", 8), ("mesh:8x8", 32)],
)
def test_an_all_gather_takes_the_least_possible_time(name: str, steps: int) -> None:
    topology = parse_topology(name)
    members = list(range(topology.npus))
    graph, shards = graph_of(topology, members), shards_of("all_gather", members)
    plan = synthesize(graph, shards)
    check_plan(plan, shards, members, ends(graph))
    assert plan.steps == steps
    used = len(plan.moves) / (steps * len(graph.arcs))
    assert plan.link_utilization == pytest.approx(used)


@pytest.mark.parametrize(("pattern", "most"), [("all_gather", 96), ("all_to_all", 120)])
def test_switches_pass_on_and_hold_nothing(pattern: str, most: int) -> None:
    fred = parse_topology("fred-d")
    members = list(range(fred.npus))
    graph, shards = graph_of(fred, members), shards_of(pattern, members)
    plan = synthesize(graph, shards, (0,))
    check_plan(plan, shards, members, ends(graph))
    # 19 shards of 4 slots each over the link of an NPU
    assert 76 <= plan.steps <= most


def test_a_seed_gives_the_same_plan_every_time() -> None:
    topology = parse_topology("mesh:4x4")
    graph = graph_of(topology, range(16))
    shards = shards_of("all_gather", list(range(16)))
    assert synthesize(graph, shards, (3,)) == synthesize(graph, shards, (3,))
    assert synthesize(graph, shards, (3,)).moves != synthesize(graph, shards, (4,)).moves


def test_the_best_of_all_seeds_is_kept() -> None:
    topology = parse_topology("mesh:5x4")
    graph = graph_of(topology, range(20))
    shards = shards_of("all_to_all", list(range(20)))
    plans = [synthesize(graph, shards, (seed,)) for seed in range(4)]
    best = synthesize(graph, shards, range(4))
    assert best.steps == min(plan.steps for plan in plans)
    assert best == plans[best.seed]


def test_members_that_are_cut_off_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^links must lead from each member of a graph to every"):
        synthesize(graph_of_neighbours({0: [1], 1: []}), [Shard(0)])
