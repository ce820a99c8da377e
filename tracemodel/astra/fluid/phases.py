"""A collective phase as a flow: its duration on an idle network, and its bytes on each link.

All participants run in lockstep. A round of messages takes the preparation of its sender, then the
time of the link that carries the most bytes, then the longest latency. Links carry the messages of
one round at a time, so no NPU sends or receives faster than its links allow.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from perfmodel.collectives.schedule import ROOTED
from tracemodel.astra.collectives.plan import Phase, Plan
from tracemodel.astra.collectives.program import Program, program_of, ring_costs_ns
from tracemodel.astra.collectives.tree import tree

from .lines import Cost, Line, Link, Route

__all__ = ["phase_cost"]


class _Round(NamedTuple):
    """Concurrent messages (source, target, bytes) and the processing time before them [ns]."""

    cost_ns: float
    messages: list[tuple[int, int, int]]


def phase_cost(phase: Phase, plan: Plan, line: Line, number: int, *, symmetry: bool = True) -> Cost:
    """Return the cost of a phase on a line.

    Parameters
    ----------
    phase, plan : Phase, Plan
        The phase, and the plan of its collective.
    line : Line
        Links between the participants.
    number : int
        Number of the chunk: chunks alternate between two trees.
    symmetry : bool
        Whether equal messages of NPUs are computed once.
    """
    if line.fabric:
        whole = phase.data_bytes * (phase.axis.count if phase.kind == "all_gather" else 1)
        return line.collective(phase.kind, whole, _from_root(phase))
    if phase.kind in ROOTED:
        return _chain_cost(phase, plan, line)
    algorithm = phase.axis.algorithm
    if algorithm == "double_binary_tree":
        rounds = _tree_rounds(phase, plan, second=number % 2 == 1)
        return _cost(line, rounds, plan.endpoint_ns, None)
    program = program_of(phase, plan)
    turned = line if symmetry and line.turns and algorithm != "halving_doubling" else None
    places = range(1 if turned else phase.axis.count)
    if algorithm == "ring":
        return _ring_cost(phase, plan, program, line, places, turned)
    last = range(program.sends, program.sends + program.window)
    return _cost(line, _rounds(program, places), max(map(program.cost_ns, last)), turned)


def _ring_cost(
    phase: Phase,
    plan: Plan,
    program: Program,
    line: Line,
    places: Sequence[int],
    turned: Line | None,
) -> Cost:
    """Return the cost of a ring, in which each message moves on independently of the others."""
    routes = [line.route(place, program.peers(place, 0)[0]) for place in places]
    count, size = phase.axis.count, program.size(0)
    carried = _carried(((route, size) for route in routes), turned)
    latencies_ns = [route.latency_ns for route in routes]
    # A shard crosses all edges but one; the slowest shard skips the edge of least latency.
    once_ns = sum(latencies_ns) - min(latencies_ns)
    if len(routes) == 1:
        once_ns = (count - 1) * latencies_ns[0]
    busy_ns = max(one / line.bytes_per_ns(link) for link, one in carried.items())
    time_ns = program.sends * busy_ns + program.sends / (count - 1) * once_ns
    all_bytes = {link: program.sends * one for link, one in carried.items()}
    return Cost(time_ns + ring_costs_ns(phase, plan, program), all_bytes, turned is not None)


def _from_root(phase: Phase) -> list[int]:
    """Return the positions of the participants in ring order, starting at the root."""
    count, root = phase.axis.count, phase.axis.root
    return [(root + place) % count for place in range(count)]


def _chain_cost(phase: Phase, plan: Plan, line: Line) -> Cost:
    """Return the cost of a pipelined broadcast from NPU to NPU.

    A reduce runs in the opposite direction, and reduces received data before it is forwarded.
    """
    # The simulation of collectives is slow to import.
    from perfmodel.collectives.select import chunk_bytes

    order, reduces = _from_root(phase), phase.kind == "reduce"
    routes = [line.route(*pair) for pair in pairwise(order[::-1] if reduces else order)]
    carried = _carried(((route, phase.data_bytes) for route in routes), None)
    busy_ns = max(count / line.bytes_per_ns(link) for link, count in carried.items())
    busy_ns += plan.reduction_ns(phase.data_bytes) if reduces else 0
    # Each NPU between the ends adds the time of one piece on the slowest link.
    piece = chunk_bytes(phase.data_bytes) / phase.data_bytes
    time_ns = busy_ns * (1 + piece * (len(routes) - 1)) + sum(route.latency_ns for route in routes)
    return Cost(time_ns + (len(routes) + 1) * plan.endpoint_ns, carried)


def _rounds(program: Program, places: Sequence[int]) -> Iterator[_Round]:
    """Yield rounds of as many messages as the window allows; no round crosses the halfway point."""
    half = program.half or program.sends
    for first in range(0, program.sends, half):
        for begin in range(first, first + half, program.window):
            numbers = range(begin, min(begin + program.window, first + half))
            messages = [
                (place, program.peers(place, one)[0], program.size(one))
                for place in places
                for one in numbers
            ]
            yield _Round(max(map(program.cost_ns, numbers)), messages)


def _tree_rounds(phase: Phase, plan: Plan, second: bool) -> Iterator[_Round]:
    """Yield the messages of each tree level, first up to the root, then down."""
    nodes = tree(phase.axis.count, second)
    level = [place for place, node in enumerate(nodes) if node.parent is None]
    levels: list[list[tuple[int, int]]] = []
    while level:
        levels.append([(place, child) for place in level for child in nodes[place].children])
        level = [child for _, child in levels[-1]]
    reduction_ns = plan.reduction_ns(phase.data_bytes)
    first, size = True, phase.data_bytes
    for pairs in reversed(levels[:-1]):
        cost_ns = plan.endpoint_ns + (0 if first else reduction_ns)
        first = False
        yield _Round(cost_ns, [(child, parent, size) for parent, child in pairs])
    for pairs in levels[:-1]:
        cost_ns = plan.endpoint_ns + reduction_ns
        yield _Round(cost_ns, [(parent, child, size) for parent, child in pairs])


def _cost(line: Line, rounds: Iterator[_Round], last_ns: float, turned: Line | None) -> Cost:
    """Return the cost of successive rounds and of the processing after the last round."""
    time_ns, whole = last_ns, dict[Link, float]()
    for one in rounds:
        routes = [(line.route(source, target), size) for source, target, size in one.messages]
        carried = _carried(routes, turned)
        time_ns += one.cost_ns + max(route.latency_ns for route, _ in routes)
        time_ns += max(count / line.bytes_per_ns(link) for link, count in carried.items())
        for link, count in carried.items():
            whole[link] = whole.get(link, 0.0) + count
    return Cost(time_ns, whole, turned is not None)


def _carried(
    routes: "Iterator[tuple[Route, int]] | Sequence[tuple[Route, int]]", turned: Line | None
) -> dict[Link, float]:
    """Return the bytes that cross each link, or each representative link."""
    found: dict[Link, float] = {}
    for route, size in routes:
        for link in route.links:
            one = turned.like(link) if turned else link
            found[one] = found.get(one, 0.0) + size
    return found
