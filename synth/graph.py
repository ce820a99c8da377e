"""Timing graph of a mapped design: arrival times, and each cell's effect on the clock."""

from dataclasses import dataclass

import numpy as np

from .delays import Floats, Ints
from .flat import Flat
from .kinds import Found, Kinds, sums

__all__ = ["Gradient", "TimingGraph"]

_NEVER = -1e30
"""Arrival time of edges that no register produces."""


@dataclass(frozen=True)
class Gradient:
    """Sensitivity of the clock to changes of a design.

    Parameters
    ----------
    blur : float
        Paths shorter by this than the longest count an e-th.
    smooth : float
        The longest path, a little longer for all that are nearly as long.
    arc, check : Floats
        With the delay of each arc, and with each setup time.
    arc_slew, check_slew : Floats
        With the slew at the source of each arc, and of each check.
    node_slew, load : Floats
        With the slew and the load of each node.
    """

    blur: float
    smooth: float
    arc: Floats
    check: Floats
    arc_slew: Floats
    check_slew: Floats
    node_slew: Floats
    load: Floats


class TimingGraph:
    """Arrival times of both edges of all nets, with nodes ``2 * net + edge``.

    Parameters
    ----------
    flat : Flat
        The design.
    kinds : Kinds
        The cells.
    kind : Ints
        The cell that each item of a definition is.
    """

    def __init__(self, flat: Flat, kinds: Kinds, kind: Ints) -> None:
        self.flat, self.kinds, self.kind = flat, kinds, kind
        self.nodes = 2 * flat.nets + 1  # the last node is the start of all paths
        self._arcs()
        self._order()

    def _arcs(self) -> None:
        """Collect arcs and checks of all cells; each pin and edge of a cell has one number."""
        flat, kinds = self.flat, self.kinds
        family = np.array(kinds.family, dtype=np.int64)[self.kind[flat.cell]]
        arcs, checks = [np.zeros((5, 0), dtype=np.int64)], [np.zeros((4, 0), dtype=np.int64)]
        launch = self.nodes - 1
        for number, members in enumerate(kinds.families):
            cells = np.flatnonzero(family == number)
            cell = kinds.cells[members[0]]
            pins, places = flat.pins[cells], {pin: n for n, pin in enumerate(cell.pins)}
            for slot, (pin, edge, output, to) in enumerate(sorted(cell.arcs)):
                source, target = pins[:, places[pin]], pins[:, places[output]]
                there = (source >= 0) & (target >= 0)
                start = np.where(cell.register, launch, 2 * source + edge)
                number_of_pin = np.full(len(cells), 2 * places[pin] + edge)
                rows = [start, 2 * target + to, cells, np.full(len(cells), slot), number_of_pin]
                arcs.append(np.array(rows)[:, there])
            for slot, (pin, edge) in enumerate(sorted(cell.checks)):
                source = pins[:, places[pin]]
                number_of_pin = np.full(len(cells), 2 * places[pin] + edge)
                rows = [2 * source + edge, cells, np.full(len(cells), slot), number_of_pin]
                checks.append(np.array(rows)[:, source >= 0])
        found = np.concatenate(arcs, axis=1)
        self.source, self.target, self.arc_cell, self.arc_slot, self.arc_pin = found
        found = np.concatenate(checks, axis=1)
        self.end, self.check_cell, self.check_slot, self.check_pin = found

    def _order(self) -> None:
        """Sort arcs by the distance of their targets from registers; cut loops."""
        order = np.argsort(self.source, kind="stable")
        first = np.searchsorted(self.source[order], np.arange(self.nodes + 1))
        missing = np.bincount(self.target, minlength=self.nodes)
        level = np.full(self.nodes, -1, dtype=np.int64)
        nodes = np.flatnonzero(missing == 0)
        number = 0
        while len(nodes):
            level[nodes] = number
            counts = first[nodes + 1] - first[nodes]
            starts = np.repeat(first[nodes] - np.cumsum(counts) + counts, counts)
            targets = self.target[order[starts + np.arange(counts.sum())]]
            touched, times = np.unique(targets, return_counts=True)
            missing[touched] -= times
            nodes = touched[missing[touched] == 0]
            number += 1
        self.level = level
        keep = np.flatnonzero((level[self.target] > 0) & (level[self.source] >= 0))
        keep = keep[np.lexsort((self.target[keep], level[self.target[keep]]))]
        for name in ("source", "target", "arc_cell", "arc_slot", "arc_pin"):
            setattr(self, name, getattr(self, name)[keep])
        at = level[self.target]
        bounds = np.searchsorted(at, np.arange(1, number + 1))
        self.levels = [
            slice(a, b) for a, b in zip(bounds, [*bounds[1:], len(at)], strict=True) if b > a
        ]
        self.heads = [
            np.flatnonzero(np.diff(self.target[part], prepend=-1)) for part in self.levels
        ]

    def loads(self, cells: Ints | slice = slice(None)) -> Floats:
        """Return the capacitance of the given cells at each node."""
        flat, total = self.flat, np.zeros(self.nodes)
        kind, pins = self.kind[flat.cell[cells]], flat.pins[cells]
        for place in range(pins.shape[1]):
            nets = pins[:, place]
            there = nets >= 0
            for edge in (0, 1):
                weights = self.kinds.load[kind[there], place, edge]
                total += sums(2 * nets[there] + edge, weights, self.nodes)
        return total

    def time(self) -> None:
        """Compute all arrival times, and ``worst``, the longest path."""
        flat = self.flat
        self.node_load = self.loads()
        for edge in (0, 1):
            there = flat.loaded >= 0
            at = 2 * flat.loaded[there] + edge
            self.node_load += sums(at, flat.load[there], self.nodes)
        self.start = np.full(self.nodes, _NEVER)
        for edge in (0, 1):
            self.start[2 * flat.launches[flat.launches >= 0] + edge] = 0.0
        self.start[-1] = 0.0
        self.arrival, self.node_slew = self.start.copy(), np.zeros(self.nodes)
        self.at, self.table = np.zeros(len(self.source)), np.zeros(len(self.source), dtype=np.int64)
        self.found = Found(*np.zeros((6, len(self.source))))
        self.setup = Found(*np.zeros((6, len(self.end))))
        outside = flat.ends[flat.ends >= 0]
        self.outside = np.concatenate([2 * outside, 2 * outside + 1])
        self.parts: list[tuple[Ints | slice, Ints]] = list(
            zip(self.levels, self.heads, strict=True)
        )
        self.checked: Ints | slice = slice(None)
        self._time()

    def narrow(self, margin: float) -> None:
        """Restrict ``retime`` to paths at most this fraction shorter than the longest."""
        tail = np.full(self.nodes, _NEVER)
        np.maximum.at(tail, self.end, self.setup.delay)
        tail[self.outside] = np.maximum(tail[self.outside], 0.0)
        for part in self.levels[::-1]:
            later = self.found.delay[part] + tail[self.target[part]]
            np.maximum.at(tail, self.source[part], later)
        long = self.arrival + tail > (1 - margin) * self.worst
        self.parts = []
        for part in self.levels:
            arcs = part.start + np.flatnonzero(long[self.target[part]])
            if len(arcs):
                self.parts.append((arcs, np.flatnonzero(np.diff(self.target[arcs], prepend=-1))))
        self.checked = np.flatnonzero(long[self.end])
        self.timed = self.kind.copy()

    def retime(self) -> None:
        """Recompute arrivals and the longest path after a change of ``kind``, within ``narrow``."""
        cells = np.flatnonzero((self.kind != self.timed)[self.flat.cell])
        now = self.kind
        self.node_load += self.loads(cells)
        self.kind = self.timed
        self.node_load -= self.loads(cells)
        self.kind, self.timed = now, now.copy()
        self._time()

    def _time(self) -> None:
        """Compute arrival times of ``parts``, and the longest path to all endpoints."""
        kinds, kind = self.kinds, self.kind[self.flat.cell]
        for part, heads in self.parts:
            source, target = self.source[part], self.target[part]
            table = kinds.first_arc[kind[self.arc_cell[part]]] + self.arc_slot[part]
            found = kinds.look_up(table, self.node_slew[source], self.node_load[target])
            self.table[part] = table
            for name, values in vars(found).items():
                getattr(self.found, name)[part] = values
            at = self.arrival[source] + found.delay
            self.at[part] = at
            slews = np.where(at > _NEVER / 2, found.slew, 0.0)
            ends = target[heads]
            self.arrival[ends] = np.maximum(self.start[ends], np.maximum.reduceat(at, heads))
            self.node_slew[ends] = np.maximum.reduceat(slews, heads)
        checked = self.checked
        end = self.end[checked]
        table = kinds.first_check[kind[self.check_cell[checked]]] + self.check_slot[checked]
        setup = kinds.look_up(table, self.node_slew[end], np.zeros(len(end)))
        for name, values in vars(setup).items():
            getattr(self.setup, name)[checked] = values
        self.needed = np.concatenate(
            [self.arrival[self.end] + self.setup.delay, self.arrival[self.outside]]
        )
        self.worst = max(0.0, float(self.needed.max(initial=0.0)))

    def gradient(self, blur: float) -> Gradient:
        """Return the gradient of the clock; a path shorter by ``blur`` has weight 1/e."""
        worst = self.worst
        share = np.exp(np.maximum((self.needed - worst) / blur, -700.0))
        share[self.needed < _NEVER / 2] = 0.0
        smooth = worst + blur * float(np.log(share.sum())) if share.any() else 0.0
        share /= share.sum() or 1.0
        check = share[: len(self.end)]
        weight = sums(self.end, check, self.nodes)
        weight += sums(self.outside, share[len(self.end) :], self.nodes)
        check_slew = check * self.setup.delay_by_slew
        by_slew = sums(self.end, check_slew, self.nodes)
        by_load = np.zeros(self.nodes)
        arc, arc_slew = np.zeros(len(self.source)), np.zeros(len(self.source))
        for part, heads in self.parts[::-1]:
            source, target, found = self.source[part], self.target[part], self.found
            p = np.exp(np.maximum((self.at[part] - self.arrival[target]) / blur, -700.0))
            counts = np.diff(heads, append=len(p))
            w = p * np.repeat(weight[target[heads]] / np.add.reduceat(p, heads), counts)
            arc[part] = w
            sets = found.slew[part] == self.node_slew[target]
            times = np.repeat(np.maximum(np.add.reduceat(sets.astype(float), heads), 1.0), counts)
            s = np.where(sets, by_slew[target] / times, 0.0)
            change = w * found.delay_by_load[part] + s * found.slew_by_load[part]
            by_load[target[heads]] = np.add.reduceat(change, heads)
            np.add.at(weight, source, w)
            arc_slew[part] = w * found.delay_by_slew[part] + s * found.slew_by_slew[part]
            np.add.at(by_slew, source, arc_slew[part])
        return Gradient(blur, smooth, arc, check, arc_slew, check_slew, by_slew, by_load)
