"""All-reduces of MultiTree's evaluation, compared with its network simulator."""

from collections.abc import Iterator, Sequence

from perfmodel.collectives.link_graph import graph_of
from perfmodel.collectives.multitree import grow
from perfmodel.published_multitree import ALL_REDUCE_CYCLES
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology
from studies.multitree_network import Flow, all_reduce_cycles
from studies.section import SECTIONS, Evidence, ReproduceRow, Section, Setting

__all__ = ["multitree"]

_TOLERANCE = 0.15

_WORDS = {
    "packets": "MultiTree, packets of 256 B",
    "messages": "MultiTree, one head flit for each chunk",
    "one-interface": "MultiTree, one interface for each node",
    "ring": "ring",
    "ring2d": "2D ring",
}


def multitree(_setting: Setting) -> Iterator[ReproduceRow]:
    """Yield all-reduces on a torus and a mesh of 4 x 4."""
    for (name, kib, how), figure in ALL_REDUCE_CYCLES.items():
        topology = parse_topology(name, "ideal")
        cycles = _cycles(topology, kib, how)
        evidence: Evidence = "calibrated" if how == "ring" else "predicted"
        yield ReproduceRow(
            id=f"multitree/{name}/{kib}-kib/{how}",
            what=f"all-reduce of {kib} KiB on {name}, {_WORDS[how]} [cycles]",
            evidence=evidence,
            published=figure.value,
            model=cycles,
            ratio=cycles / figure.value,
            rule=f"simulator, {_TOLERANCE:.0%}",
            tolerance=_TOLERANCE,
            ok=abs(cycles / figure.value - 1) <= _TOLERANCE,
            how="simulated packet by packet"
            + ", the latency of interfaces chosen by this figure" * (how == "ring"),
            source=figure.source,
        )


def _cycles(topology: Topology, kib: int, how: str) -> float:
    chunk = kib * 1024 // topology.npus
    if how == "ring":
        return all_reduce_cycles(topology, _ring(topology), chunk)
    if how == "ring2d":
        return 2 * all_reduce_cycles(topology, _rings(topology), chunk)
    return all_reduce_cycles(
        topology,
        _trees(topology),
        chunk,
        interfaces=1 if how == "one-interface" else 4,
        heads_once=how == "messages",
    )


def _trees(topology: Topology) -> list[Flow]:
    forest = grow(graph_of(topology, range(topology.npus)))
    return [
        Flow(root, tuple((edge.child, edge.parent, edge.step) for edge in tree))
        for root, tree in forest.trees.items()
    ]


def _ring(topology: Topology) -> list[Flow]:
    order = topology.ring_order(range(topology.npus))
    return [_along([*order[i:], *order[:i]]) for i in range(len(order))]


def _rings(topology: Topology) -> list[Flow]:
    """Return one flow per node in each of the four directions, around its row or column."""
    found: list[Flow] = []
    for node in range(16):
        x, y = node % 4, node // 4
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            found.append(_along([(x + dx * i) % 4 + 4 * ((y + dy * i) % 4) for i in range(4)]))
    assert topology.npus == len(found) // 4
    return found


def _along(order: Sequence[int]) -> Flow:
    """Return a flow that passes from node to node in order."""
    edges = tuple((order[i + 1], order[i], i) for i in range(len(order) - 1))
    return Flow(order[0], edges)


SECTIONS.add(
    "multitree", Section(multitree, {"multitree": "All-reduces of MultiTree's evaluation"}), rank=4
)
