"""Flows that provably do the same: the coarsest equitable partition of flows and links.

Two flows are in one class if they have equal bytes and latency, cross equally loaded links of the
same classes, and wait for, and hold up, flows of the same classes; two links if they have the same
bandwidth and carry flows of the same classes with the same loads. Max-min rates, and the window of
chunks, depend on nothing else, so by induction over the events all flows of a class start, run and
end together, and one of them stands for all. Colour refinement finds the classes (Weisfeiler and
Leman; Paige and Tarjan, SIAM Journal on Computing 16, 1987).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from .flow import FluidFlow

__all__ = ["Classes", "flow_classes", "separate_classes"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes of flows and of links.

    Parameters
    ----------
    flow_class : tuple of int
        Class of each flow.
    representative : tuple of int
        The first flow of each class.
    capacities : tuple of float
        Bandwidth of each class of links [B/s].
    loads : tuple
        For each class of flows, pairs of link class and bytes on one such link for each byte of
        one such flow, all flows of the class together.
    seconds_per_byte : tuple of float
        For each class of flows, time of one such flow that is alone on its links [s/B].
    """

    flow_class: tuple[int, ...]
    representative: tuple[int, ...]
    capacities: tuple[float, ...]
    loads: tuple[tuple[tuple[int, float], ...], ...]
    seconds_per_byte: tuple[float, ...]


def flow_classes(flows: Sequence[FluidFlow], capacities: Sequence[float]) -> Classes:
    """Return the classes of flows that behave alike.

    Parameters
    ----------
    flows : sequence of FluidFlow
        Flows of one chunk.
    capacities : sequence of float
        Bandwidth of each link [B/s].
    """
    if not flows:
        return Classes((), (), (), (), ())
    graph = _Graph(flows, capacities)
    flow_colour, link_colour = graph.refined()
    first_flow = _firsts(flow_colour)
    first_link = _firsts(link_colour)
    return Classes(
        flow_class=tuple(int(colour) for colour in flow_colour),
        representative=tuple(first_flow),
        capacities=tuple(float(capacities[int(graph.used[link])]) for link in first_link),
        loads=_loads(graph, flow_colour, first_link),
        seconds_per_byte=tuple(_seconds_per_byte(flows[i], capacities) for i in first_flow),
    )


class _Graph:
    """Flows, links and the pairs of both, as arrays."""

    def __init__(self, flows: Sequence[FluidFlow], capacities: Sequence[float]) -> None:
        sizes = np.array([len(flow.loads) for flow in flows], dtype=np.int64)
        self.flow_of = np.repeat(np.arange(len(flows), dtype=np.int64), sizes)
        pairs = [pair for flow in flows for pair in flow.loads]
        link_ids: Ints = np.array([link for link, _ in pairs], dtype=np.int64)
        self.used, self.link_of = np.unique(link_ids, return_inverse=True)
        self.load = [load for _, load in pairs]
        self.flows = flows
        self.flow_colour = _ranks([(f.payload_bytes, f.latency_s, len(f.loads)) for f in flows])
        self.link_colour = _ranks([capacities[int(link)] for link in self.used])
        self.flow_first = [0, *accumulate(len(flow.loads) for flow in flows)]
        self.by_link = np.argsort(self.link_of, kind="stable")
        firsts = np.searchsorted(self.link_of[self.by_link], np.arange(len(self.used) + 1))
        self.link_first = [int(first) for first in firsts]
        self.on_link = [self.by_link[a:b] for a, b in pairwise(self.link_first)]

    def refined(self) -> tuple[Ints, Ints]:
        """Return the class of each flow and link: refine both until nothing changes."""
        load_kind, link_of, flow_of = _ranks(self.load), self.link_of, self.flow_of
        flow_colour, link_colour = self.flow_colour, self.link_colour
        followers = _followers(self.flows)
        while True:
            known = int(flow_colour.max()) + int(link_colour.max())
            # A pair (load, colour) as one number, sorted within each flow or link.
            on_flow = load_kind * (len(self.used) + 1) + link_colour[link_of]
            on_flow = on_flow[np.lexsort((on_flow, flow_of))]
            colours = flow_colour.tolist()
            flow_colour = _ranks(
                [
                    (
                        colours[i],
                        on_flow[self.flow_first[i] : self.flow_first[i + 1]].tobytes(),
                        tuple(sorted({colours[j] for j in flow.after})),
                        # The end of a chunk lets a later one start, so what follows matters too.
                        tuple(sorted({colours[j] for j in followers[i]})),
                    )
                    for i, flow in enumerate(self.flows)
                ]
            )
            on_link = (load_kind * (len(self.flows) + 1) + flow_colour[flow_of])[self.by_link]
            on_link = on_link[np.lexsort((on_link, link_of[self.by_link]))]
            parts = pairwise(self.link_first)
            link_colour = _ranks(
                [
                    (colour, on_link[a:b].tobytes())
                    for colour, (a, b) in zip(link_colour.tolist(), parts, strict=True)
                ]
            )
            if int(flow_colour.max()) + int(link_colour.max()) == known:
                return flow_colour, link_colour


def _followers(flows: Sequence[FluidFlow]) -> list[list[int]]:
    """Return the flows that wait for each flow."""
    followers: list[list[int]] = [[] for _ in flows]
    for i, flow in enumerate(flows):
        for before in flow.after:
            followers[before].append(i)
    return followers


def _loads(
    graph: _Graph, flow_class: Ints, first_link: Sequence[int]
) -> tuple[tuple[tuple[int, float], ...], ...]:
    """Return for each class of flows the load of all its flows on one link of each class."""
    loads: list[dict[int, float]] = [{} for _ in range(int(flow_class.max()) + 1)]
    for colour, link in enumerate(first_link):
        for entry in graph.on_link[link]:
            mine = loads[int(flow_class[graph.flow_of[entry]])]
            mine[colour] = mine.get(colour, 0.0) + graph.load[int(entry)]
    return tuple(tuple(mine.items()) for mine in loads)


def separate_classes(flows: Sequence[FluidFlow], capacities: Sequence[float]) -> Classes:
    """Return each flow and each link as a class of its own: no use of symmetry."""
    return Classes(
        flow_class=tuple(range(len(flows))),
        representative=tuple(range(len(flows))),
        capacities=tuple(capacities),
        loads=tuple(flow.loads for flow in flows),
        seconds_per_byte=tuple(_seconds_per_byte(flow, capacities) for flow in flows),
    )


def _seconds_per_byte(flow: FluidFlow, capacities: Sequence[float]) -> float:
    return max((load / capacities[link] for link, load in flow.loads), default=0.0)


def _ranks(keys: Sequence[object]) -> Ints:
    """Return equal numbers for equal keys, counted from 0 in order of appearance."""
    seen: dict[object, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def _firsts(colours: Ints) -> list[int]:
    """Return the first index of each colour."""
    _, first = np.unique(colours, return_index=True)
    return [int(index) for index in first]
