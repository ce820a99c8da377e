"""Choice of nets that get a buffer in front of some of their sinks."""

from dataclasses import dataclass

import numpy as np

from .definitions import Sink, plain
from .delays import Floats, Ints
from .graph import Gradient
from .kinds import sums
from .resizing import Price
from .sizable import SizableDesign

__all__ = ["Buffering", "bufferings"]

_NETS = 400
"""Number of nets that are examined at once."""

_INSTANCES = 8
"""Number of instances of a net that represent all of them."""

_LEAST = 1e-4
"""Least gain of a buffer, as a fraction of the clock period."""


@dataclass(frozen=True)
class Buffering:
    """A buffer: definition, net before it, sinks after it, and cell."""

    gain: float
    definition: str
    net: str
    sinks: list[Sink]
    kind: int


@dataclass(frozen=True)
class _Sinks:
    """Sinks of a net, grouped by item.

    Parameters
    ----------
    groups : list of list of Sink
        The sinks.
    weight, slew, load : Floats
        For each group: change of the clock with a delay and with the slew in front of it, and the
        load; columns are edges.
    driver, slew_now : Floats
        Change of the clock with the load of the net, and its slew.
    """

    groups: list[list[Sink]]
    weight: Floats
    slew: Floats
    load: Floats
    driver: Floats
    slew_now: Floats


def bufferings(design: SizableDesign, gradient: Gradient, price: Price) -> list[Buffering]:
    """Return the buffers to insert at once, largest gain first; at most one per net."""
    nets = _Nets(design, gradient)
    found: list[tuple[Buffering, set[int]]] = []
    for number in nets.heavy.tolist() if design.buffers else ():
        name, local, net = design.net(number)
        sinks = design.insides[name].sinks.get(local, [])
        if not sinks or not design.may_have_buffers(name, net, sinks):
            continue
        entries = nets.entries(number)
        its = nets.sinks(number, name, sinks)
        gain, moved, kind = _best(design, gradient, price, name, its)
        if gain > _LEAST:
            one = Buffering(gain, name, net, moved, kind)
            found.append((one, set(design.graph.flat.net[entries].tolist())))
    found.sort(key=lambda pair: -pair[0].gain)
    busy: set[int] = set()
    chosen: list[Buffering] = []
    for one, its in found:
        if not its & busy:
            busy |= its
            chosen.append(one)
    return chosen


def _best(
    design: SizableDesign, gradient: Gradient, price: Price, name: str, its: _Sinks
) -> tuple[float, list[Sink], int]:
    """Return the gain of the best buffer, the sinks after it, and the buffer."""
    kinds, buffers = design.kinds, np.array(design.buffers)
    rows, tables, edges = np.array(
        [
            (row, kinds.first_arc[kind] + slot, edge)
            for row, kind in enumerate(design.buffers)
            for slot, (_, edge, _, _) in enumerate(sorted(kinds.cells[kind].arcs))
        ]
    ).T
    # The sinks that matter least for their load go behind the buffer first.
    order = np.argsort(its.weight.sum(1) / np.maximum(its.load.sum(1), 1e-9), kind="stable")
    weight, slew, load = (np.cumsum(x[order], axis=0) for x in (its.weight, its.slew, its.load))
    found = kinds.look_up(
        np.repeat(tables, len(load)),
        np.repeat(its.slew_now[edges], len(load)),
        load[:, edges].T.ravel(),
    )
    later = np.clip(found.delay.reshape(-1, len(load)) / price.blur, -50, 50)
    slower = found.slew.reshape(-1, len(load)) - its.slew_now[edges][:, None]
    cost = (its.driver * (kinds.load[buffers, 0][:, None] - load)).sum(2)
    value = price.blur * weight[:, edges].T * np.expm1(later) + slew[:, edges].T * slower
    np.add.at(cost, rows, value)
    area = design.counts[name] * kinds.area[buffers] / price.area_um2
    cost = cost / gradient.smooth + price.area * area[:, None]
    cost[load.max(1) > kinds.most[buffers, 1][:, None]] = 0.0
    row, least = divmod(int(np.argmin(cost)), len(load))
    moved = [sink for n in order[: least + 1].tolist() for sink in its.groups[n]]
    return float(-cost[row, least]), moved, design.buffers[row]


class _Nets:
    """Nets whose load affects the clock."""

    def __init__(self, design: SizableDesign, gradient: Gradient) -> None:
        self._design, self._gradient = design, gradient
        graph, flat, kinds = design.graph, design.graph.flat, design.kinds
        matters = np.maximum(gradient.load * graph.node_load, 0.0)
        self._matters = matters[:-1].reshape(-1, 2).sum(1)
        least = _LEAST * gradient.smooth
        there = np.flatnonzero((flat.net >= 0) & (self._matters[flat.net] > 0.1 * least))
        value = self._matters[flat.net[there]]
        self._sums = sums(flat.net_of[there], value, int(flat.net_of.max(initial=-1)) + 1)
        heavy = np.flatnonzero(self._sums > least)
        self.heavy: Ints = heavy[np.argsort(-self._sums[heavy], kind="stable")][:_NETS]
        self._order = there[np.lexsort((-value, flat.net_of[there]))]
        self._keys = flat.net_of[self._order]
        is_input = kinds.is_input[graph.kind[flat.cell]].ravel()
        pins = np.flatnonzero((flat.pins.ravel() >= 0) & is_input)
        nets = flat.pins.ravel()[pins]
        order = np.argsort(nets, kind="stable")
        self._pins, self._pin_nets = pins[order], nets[order]
        width, size = 2 * kinds.most_pins, 2 * flat.pins.size
        arc = graph.arc_cell * width + graph.arc_pin
        check = graph.check_cell * width + graph.check_pin
        pairs = (gradient.arc, gradient.check), (gradient.arc_slew, gradient.check_slew)
        self._weight, self._slew = (
            (sums(arc, of_arc, size) + sums(check, of_check, size)).reshape(-1, 2)
            for of_arc, of_check in pairs
        )

    def entries(self, number: int) -> Ints:
        """Return the instances of a definition's net, the most critical first."""
        first, end = np.searchsorted(self._keys, [number, number + 1])
        return self._order[first:end]

    def sinks(self, number: int, name: str, sinks: list[Sink]) -> _Sinks:
        """Return the sinks of a definition's net."""
        design, graph, flat = self._design, self._design.graph, self._design.graph.flat
        groups: dict[int, list[Sink]] = {}
        for sink in sinks:
            groups.setdefault(sink.item, []).append(sink)
        places = {item: n for n, item in enumerate(groups)}
        weight, slew = np.zeros((len(groups), 2)), np.zeros((len(groups), 2))
        load = self._block_loads(name, groups)
        driver, slew_now = np.zeros(2), np.zeros(2)
        entries = self.entries(number)[:_INSTANCES]
        for entry in entries.tolist():
            net, base = int(flat.net[entry]), int(flat.base[entry])
            node = slice(2 * net, 2 * net + 2)
            driver += self._gradient.load[node]
            slew_now = np.maximum(slew_now, graph.node_slew[node])
            pins, items = self._items(name, net, base)
            at = np.array([places.get(item, -1) for item in items], dtype=np.int64)
            pins, at = pins[at >= 0], at[at >= 0]
            np.add.at(weight, at, self._weight[pins])
            np.add.at(slew, at, self._slew[pins])
            cell, pin = np.divmod(pins, design.kinds.most_pins)
            its = np.zeros_like(load)
            np.add.at(its, at, design.kinds.load[graph.kind[flat.cell[cell]], pin])
            load = np.maximum(load, its)
        share = self._sums[number] / self._matters[flat.net[entries]].sum()
        return _Sinks(
            list(groups.values()), weight * share, slew * share, load, driver * share, slew_now
        )

    def _items(self, name: str, net: int, base: int) -> tuple[Ints, list[int]]:
        """Return the pins of an instance on a net, and their items."""
        inside = self._design.insides[name]
        first, end = np.searchsorted(self._pin_nets, [net, net + 1])
        pins = self._pins[first:end]
        cells = pins // self._design.kinds.most_pins - base
        within = (cells >= 0) & (cells < len(inside.flat.cell))
        starts = [start for _, start in inside.children]
        items = [
            inside.cells[cell]
            if cell < len(inside.cells)
            else inside.children[int(np.searchsorted(starts, cell, side="right")) - 1][0]
            for cell in cells[within].tolist()
        ]
        return pins[within], items

    def _block_loads(self, name: str, groups: dict[int, list[Sink]]) -> Floats:
        """Return the loads of memories and omitted modules."""
        around, definition = self._design.around, self._design.definitions[name]
        load = np.zeros((len(groups), 2))
        for n, (item, sinks) in enumerate(groups.items()):
            if block := around.block(plain(definition.items[item].kind)):
                load[n] = sum(block.loads_ff.get(plain(one.pin), 0.0) for one in sinks)
        return load / around.unit_ff
