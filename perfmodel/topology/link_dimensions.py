"""The dimension of a topology that each link belongs to."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

from .block import Dimension
from .graph import Topology

__all__ = ["IO", "link_dimensions"]

IO = "I/O controllers"
"""Name for links of I/O controllers, which belong to no dimension."""

BETWEEN = "between wafers"
"""Name of links between I/O controllers of several wafers, and of those to switches between."""

_found: WeakKeyDictionary[Topology, tuple[str, ...]] = WeakKeyDictionary()


def link_dimensions(topology: Topology) -> tuple[str, ...]:
    """Return the name of the dimension of each link, such as ``1: ring of 4``.

    A link between two NPUs belongs to the dimension along which their positions differ, a link of a
    switch of blocks to that along which its NPUs lie, and in a tree of switches the links below
    each level of switches are a dimension. Links of topologies without dimensions are named after
    the kinds of their ends.
    """
    if topology not in _found:  # requested by each estimate
        _found[topology] = tuple(_names(topology))
    return _found[topology]


def _names(topology: Topology) -> Iterator[str]:
    dimensions = topology.scheduling_dimensions
    names = [f"{i + 1}: {one.kind} of {one.npus}" for i, one in enumerate(dimensions)]
    below = _npus_below(topology)
    for index, link in enumerate(topology.links):
        kinds = topology.link_ends(index)
        if "io" in kinds:
            yield BETWEEN if kinds == ("io", "io") else IO
        elif not dimensions:
            yield " to ".join(kinds).replace("npu", "NPU")
        else:
            upper = max((link.source, link.target), key=lambda node: len(below[node]))
            ends = (link.source, link.target) if "switch" not in kinds else (upper,)
            npus = set[int]().union(*(below[end] for end in ends))
            yield names[_outermost(dimensions, npus)]


def _outermost(dimensions: tuple[Dimension, ...], npus: Iterable[int]) -> int:
    """Return the outermost dimension along which the given NPUs differ."""
    return max(
        (i for i, one in enumerate(dimensions) if len(set(map(one.place, npus))) > 1),
        default=len(dimensions) - 1,
    )


def _npus_below(topology: Topology) -> dict[int, frozenset[int]]:
    """Return the NPUs below each node: the node itself for an NPU, all descendants for a switch.

    A switch is above the nodes that are nearer to NPUs.
    """
    neighbours: dict[int, set[int]] = defaultdict(set)
    for link in topology.links:
        neighbours[link.source].add(link.target)
    row = set(range(topology.npus))
    below = {npu: frozenset([npu]) for npu in row}
    while row:
        above = {
            node
            for one in row
            for node in neighbours[one]
            if node not in below and topology.nodes[node].kind == "switch"
        }
        for node in above:
            below[node] = frozenset[int]().union(
                *(below[one] for one in neighbours[node] if one in row)
            )
        row = above
    return below
