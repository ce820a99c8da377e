"""Routing of several phases such that together they use little of an interconnect."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from .connections import BOTH
from .flows import Flow
from .greedy import Path
from .routing import RoutingResult, route
from .shape import split_count, subswitch_ports
from .sharing import Sharing, bits

__all__ = ["route_frugally"]

_MOST_PATHS = 1024
"""Paths tried per flow, the first in lexicographic order; FRED_3(64) has 243 in all."""

_MOST_PASSES = 4
"""Most times that all phases are routed."""

_Element = tuple[Path, str, int, int, int]
"""Subswitch, kind, number, source and output of a connection; a reduction unit has output -1."""


def route_frugally(
    phases: Mapping[str, Sequence[Flow]], ports: int, middle_switches: int
) -> dict[str, RoutingResult]:
    """Route each phase so that all phases together use few reduction units and connections.

    Flow by flow, the search takes the path with the fewest reduction units that no other flow uses
    yet, and among these the one with the fewest new connections. All phases are routed again, at
    most four times, while that saves parts. The result need not be the smallest. A phase that
    this search cannot route keeps the routing of ``route``.

    Parameters
    ----------
    phases : mapping of str to sequence of Flow
        Flows that are active together, by name.
    ports, middle_switches : int
        Size of the interconnect, each at least 2.

    Returns
    -------
    dict of str to RoutingResult
        In the order of ``phases``; a phase may be in conflict.

    Raises
    ------
    TypeError, ValueError
        As :func:`~fred_hw.compiler.routing.route`.
    """
    results = {name: route(flows, ports, middle_switches) for name, flows in phases.items()}
    used: dict[str, set[_Element]] = {name: set() for name, one in results.items() if one.paths}
    for number in range(_MOST_PASSES):
        before = _size(set().union(*used.values()))
        for name in sorted(used, key=lambda name: -_ports(results[name].flows)):
            others = set().union(*(own for key, own in used.items() if key != name))
            flows = results[name].flows
            for paths in (_paths(flows, ports, middle_switches, others), results[name].paths):
                own = set().union(
                    *(_elements(f, p, ports) for f, p in zip(flows, paths, strict=False))
                )
                if paths and (not used[name] or _size(own - others) < _size(used[name] - others)):
                    used[name] = own
                    results[name] = RoutingResult(
                        flows, ports, middle_switches, "routed", tuple(paths)
                    )
        if number and _size(set().union(*used.values())) == before:
            break
    return results


def _ports(flows: Sequence[Flow]) -> int:
    return sum(len(flow.inputs) + len(flow.outputs) for flow in flows)


def _size(elements: set[_Element]) -> tuple[int, int]:
    """Return the numbers of reduction units and connections."""
    units = sum(output < 0 for *_, output in elements)
    return units, len(elements) - units


def _paths(
    flows: Sequence[Flow], ports: int, middle_switches: int, used: set[_Element]
) -> list[Path]:
    """Return a path for each flow; none if the search gets stuck."""
    depth, used, placed = split_count(ports), set(used), {}
    sharing = Sharing(flows, depth)
    for flow in sorted(range(len(flows)), key=lambda n: -_ports(flows[n : n + 1])):
        near = [
            (placed[other][:level], level)
            for level, masks in enumerate(sharing.exact)
            for other in bits(masks[flow])
            if other in placed
        ]
        free = [
            path
            for path in islice(product(range(middle_switches), repeat=depth), _MOST_PATHS)
            if all(path[:level] != taken for taken, level in near)
        ]
        if not free:
            return []
        own = {path: set(_elements(flows[flow], path, ports)) for path in free}
        placed[flow] = best = min(free, key=lambda path: _size(own[path] - used))
        used |= own[best]
    return [placed[flow] for flow in range(len(flows))]


def _elements(flow: Flow, path: Path, ports: int) -> Iterator[_Element]:
    """Yield the connections and reduction units that a flow uses on a path."""
    inputs, outputs = set(flow.inputs), set(flow.outputs)
    for level, middle in enumerate(path):
        at = path[:level]
        for k, source in _sources(inputs):
            yield at, "in", k, source, middle
            if source == BOTH:
                yield at, "in", k, source, -1
        yield from ((at, "out", port >> 1, middle + 1, port & 1) for port in outputs)
        inputs, outputs = {port >> 1 for port in inputs}, {port >> 1 for port in outputs}
        ports = subswitch_ports(ports)
    for _, source in _sources(inputs):
        yield from ((path, "rd", 0, source, port) for port in outputs)
        if source == BOTH:
            yield path, "rd", 0, source, -1


def _sources(inputs: set[int]) -> Iterator[tuple[int, int]]:
    """Yield each input micro-switch, and what it takes: its first input, second, or both."""
    for k in sorted({port >> 1 for port in inputs}):
        yield k, sum(1 << (port & 1) for port in inputs if port >> 1 == k)
