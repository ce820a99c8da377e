"""Tests of perfmodel.topology.cuts."""

from perfmodel.topology.cuts import digraph, min_cut


def test_min_cut_takes_the_narrowest_place() -> None:
    edges = [("a", "b", {"w": 5}), ("b", "c", {"w": 2}), ("a", "c", {"w": 1}), ("c", "a", {"w": 9})]
    graph = digraph([("a", {}), ("b", {}), ("c", {})], edges)
    assert min_cut(graph, ["a"], ["c"], "w") == 3
    assert min_cut(graph, ["a", "b"], ["c"], "w") == 3
    assert min_cut(graph, ["c"], ["b"], "w") == 5
    assert graph.number_of_nodes() == 3
