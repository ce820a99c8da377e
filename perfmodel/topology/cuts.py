"""Typed wrappers of the networkx functions that the model uses, loaded at first use."""

import importlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

__all__ = ["DiGraph", "UnionFind", "cut_off", "digraph", "distances", "min_cut", "union_find"]

DiGraph: TypeAlias = Any
"""A ``networkx.DiGraph``; networkx ships no complete types."""

UnionFind: TypeAlias = Any
"""A ``networkx.utils.UnionFind``: disjoint sets."""


def digraph(
    nodes: Iterable[tuple[str, Mapping[str, object]]],
    edges: Iterable[tuple[str, str, Mapping[str, object]]],
) -> DiGraph:
    """Return a directed graph of nodes and edges with their attributes."""
    graph = importlib.import_module("networkx").DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def distances(graph: DiGraph, source: str) -> Mapping[str, int]:
    """Return the least number of edges from a node to each reachable node."""
    return importlib.import_module("networkx").single_source_shortest_path_length(graph, source)


def cut_off(graph: DiGraph, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the nodes that the first node cannot reach, and those that cannot reach it."""
    networkx = importlib.import_module("networkx")
    first, *others = names
    after, before = networkx.descendants(graph, first), networkx.ancestors(graph, first)
    return (
        [name for name in others if name not in after],
        [name for name in others if name not in before],
    )


def min_cut(graph: DiGraph, sources: Iterable[str], targets: Iterable[str], weight: str) -> float:
    """Return the least total ``weight`` of edges whose removal separates sources from targets.

    The sources are connected to one added node and the targets to another, by edges that cannot be
    cut.
    """
    networkx = importlib.import_module("networkx")
    graph = graph.copy()
    graph.add_edges_from(("all sources", name) for name in sources)
    graph.add_edges_from((name, "all targets") for name in targets)
    return float(networkx.minimum_cut_value(graph, "all sources", "all targets", capacity=weight))


def union_find(items: Iterable[Hashable]) -> UnionFind:
    """Return disjoint sets of one item each: ``union`` merges, indexing returns the root."""
    return importlib.import_module("networkx.utils").UnionFind(items)
