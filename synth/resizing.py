"""Choice of cells to resize."""

from dataclasses import dataclass

import numpy as np

from .delays import Floats, Ints
from .graph import Gradient
from .kinds import sums
from .sizable import SizableDesign

__all__ = ["Price", "Resizing", "resizings"]

_STEPS = (-3, -2, -1, 1, 2, 3)
"""Sizes to try relative to the present one: weaker and stronger."""

_LEAST = 1e-6
"""Least gain of a change, as a fraction of the clock period."""

_ACTIVE = 1e-5
"""Least share in long paths of a cell that is considered."""


@dataclass(frozen=True)
class Price:
    """Criteria by which a change is judged.

    Parameters
    ----------
    blur : float
        Paths shorter by this than the longest count an e-th, in units of the library.
    area : float
        Share of the clock that is worth the same share of the area.
    area_um2 : float
        Area of the whole design [um2].
    """

    blur: float
    area: float
    area_um2: float


@dataclass(frozen=True)
class Resizing:
    """A new size for an item: its number among all definitions, and the new cell."""

    item: int
    kind: int


@dataclass(frozen=True)
class _Near:
    """Arcs, checks and cells of some items, with the index of each one's item."""

    arcs: Ints
    arc_item: Ints
    checks: Ints
    check_item: Ints
    cells: Ints
    cell_item: Ints

    def of(self, fits: "np.ndarray") -> "_Near":
        """Return the part that belongs to a subset of the items."""
        parts: list[Ints] = []
        for these, items in (
            (self.arcs, self.arc_item),
            (self.checks, self.check_item),
            (self.cells, self.cell_item),
        ):
            there = fits[items]
            parts += [these[there], items[there]]
        return _Near(*parts)


def resizings(design: SizableDesign, gradient: Gradient, price: Price) -> list[Resizing]:
    """Return the changes to apply at once, largest gain first; no two share a net."""
    kind = design.graph.kind
    best, to = np.zeros(len(kind)), kind.copy()
    active = _active(design, gradient, price)
    family = np.array(design.kinds.family, dtype=np.int64)
    near = _near(design, active)
    for step in _STEPS:
        other = np.clip(kind + step, 0, len(family) - 1)
        fits = active & (kind >= 0) & (other == kind + step) & (family[other] == family[kind])
        cost = _cost(design, gradient, price, np.where(fits, other, kind), near.of(fits))
        better = fits & (cost < best)
        best[better], to[better] = cost[better], other[better]
    busy: set[int] = set()
    chosen: list[Resizing] = []
    for item in np.argsort(best, kind="stable")[: int((best < -_LEAST).sum())].tolist():
        nets = design.nets_of(item)
        if not nets & busy:
            busy |= nets
            chosen.append(Resizing(item, int(to[item])))
    return chosen


def _active(design: SizableDesign, gradient: Gradient, price: Price) -> "np.ndarray":
    """Return which items are on long paths or load them."""
    graph, kinds = design.graph, design.kinds
    flat, cell_kind = graph.flat, graph.kind[graph.flat.cell]
    weight = sums(graph.arc_cell, gradient.arc, len(flat.cell))
    for pin in range(kinds.most_pins):
        for edge in (0, 1):
            by_load = np.abs(_at_pin(gradient.load, flat.pins[:, pin], edge))
            weight += by_load * kinds.load[cell_kind, pin, edge] / price.blur
    return sums(flat.cell, weight, len(graph.kind)) > _ACTIVE


def _near(design: SizableDesign, active: "np.ndarray") -> _Near:
    """Return the arcs, checks and cells of active items."""
    graph = design.graph
    cell = graph.flat.cell
    parts: list[Ints] = []
    for items in (cell[graph.arc_cell], cell[graph.check_cell], cell):
        these = np.flatnonzero(active[items])
        parts += [these, items[these]]
    return _Near(*parts)


def _at_pin(values: Floats, net: Ints, edge: int) -> Floats:
    """Return values at the nodes of nets; 0 where there is no net."""
    return np.where(net >= 0, values[2 * net + edge], 0.0)


def _cost(
    design: SizableDesign, gradient: Gradient, price: Price, other: Ints, near: _Near
) -> Floats:
    """Return the cost of other sizes, as a fraction of the clock period; gains are negative."""
    graph, kinds = design.graph, design.kinds
    flat, kind = graph.flat, graph.kind
    arcs, items = near.arcs, near.arc_item
    target = graph.target[arcs]
    found = kinds.look_up(
        kinds.first_arc[other[items]] + graph.arc_slot[arcs],
        graph.node_slew[graph.source[arcs]],
        graph.node_load[target],
    )
    later = (found.delay - graph.found.delay[arcs]) / price.blur
    value = price.blur * gradient.arc[arcs] * np.expm1(np.clip(later, -50, 50))
    sets = graph.found.slew[arcs] == graph.node_slew[target]
    slower = np.where(sets, found.slew - graph.found.slew[arcs], 0.0)
    value += gradient.node_slew[target] * slower
    cost = sums(items, value, len(kind))
    checks, items = near.checks, near.check_item
    found = kinds.look_up(
        kinds.first_check[other[items]] + graph.check_slot[checks],
        graph.node_slew[graph.end[checks]],
        np.zeros(len(checks)),
    )
    value = gradient.check[checks] * (found.delay - graph.setup.delay[checks])
    cost += sums(items, value, len(kind))
    cells, items = near.cells, near.cell_item
    value = np.zeros(len(cells))
    for pin in range(kinds.most_pins):
        # No table covers a load beyond the limit of an output.
        net = flat.pins[cells, pin]
        drives = np.maximum(_at_pin(graph.node_load, net, 0), _at_pin(graph.node_load, net, 1))
        value[drives > kinds.most[other[items], pin]] = np.inf
        for edge in (0, 1):
            more = kinds.load[other[items], pin, edge] - kinds.load[kind[items], pin, edge]
            value += _at_pin(gradient.load, net, edge) * more
    cost += sums(items, value, len(kind))
    area = (kinds.area[other] - kinds.area[kind]) * design.count
    return cost / gradient.smooth + price.area * area / price.area_um2
