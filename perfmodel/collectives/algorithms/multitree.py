"""MultiTree: members reduce and gather along trees that never use a link at the same time."""

from collections.abc import Sequence
from functools import partial

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED, TABLES, Algorithm
from perfmodel.collectives.link_graph import LinkGraph, chain, graph_of
from perfmodel.collectives.multitree import grow
from perfmodel.collectives.schedule import ScheduleBuilder

__all__ = ["multitree"]

_LARGEST = 1024
"""Largest group: each member has a tree with a message for every other member."""


def multitree(
    builder: ScheduleBuilder,
    members: Sequence[int],
    chunk_bytes: float,
    pattern: str,
    *,
    full_slots: bool = False,
) -> None:
    """Add an all-reduce, reduce-scatter or all-gather.

    The tree of a member carries the shard that it owns: from the root to the leaves in an
    all-gather, and in the opposite order of time from the leaves to the root in a reduce-scatter.
    """
    graph = graph_of(builder.topology, members)
    share = chunk_bytes / len(members)
    shard_of = {member: builder.add_shard(member, share) for member in members}
    if pattern != "all_gather":
        builder.details = _gather(builder, graph.reversed(), shard_of, full_slots, back=True)
    if pattern != "reduce_scatter":
        builder.details = _gather(builder, graph, shard_of, full_slots, back=False)


def _gather(
    builder: ScheduleBuilder,
    graph: LinkGraph,
    shard_of: dict[int, int],
    full_slots: bool,
    *,
    back: bool,
) -> dict[str, float]:
    """Add the messages along the trees of a graph, or in reverse; return the trees' figures."""
    forest = grow(graph, full_slots=full_slots)
    edges = [(edge, shard_of[root]) for root, tree in forest.trees.items() for edge in tree]
    if back:
        edges.sort(key=lambda one: -(one[0].step + one[0].slots))
    else:
        edges.sort(key=lambda one: one[0].step)
    for edge, shard in edges:
        parent, child = (edge.parent,), (edge.child,)
        if back:
            builder.send(child, parent, (shard,), "reduce", chain(edge.links[::-1]))
        else:
            builder.send(parent, child, (shard,), "copy", chain(edge.links))
    return {"steps": forest.steps, "link_utilization": forest.link_utilization}


def _algorithm(words: str, *, full_slots: bool) -> Algorithm:
    return Algorithm(
        words,
        partial(multitree, full_slots=full_slots),
        SCATTERED,
        needs=f"at most {_LARGEST} NPUs, as each sends along the trees of all",
        fits=lambda _, group: len(group) <= _LARGEST,
        assumptions=lambda _topology, _pattern: (TABLES,),
        automatic=False,
    )


ALGORITHMS.add("multitree", _algorithm("MultiTree", full_slots=False), rank=7)
ALGORITHMS.add(
    "multitree_full_slots", _algorithm("MultiTree with full slots", full_slots=True), rank=7.5
)
