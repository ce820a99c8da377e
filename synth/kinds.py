"""Cells of a library as arrays, grouped in families of exchangeable cells."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .delays import Floats, Ints, TimedCell

__all__ = ["Found", "Kinds", "sums"]


class Kinds:
    """Cells of a library as arrays, numbered so that families of exchangeable cells are adjacent.

    Parameters
    ----------
    cells : Mapping of str to TimedCell
        The cells.
    """

    def __init__(self, cells: Mapping[str, TimedCell]) -> None:
        families: dict[tuple[object, ...], list[TimedCell]] = {}
        for cell in cells.values():
            arcs = tuple(sorted(cell.arcs)), tuple(sorted(cell.checks))
            families.setdefault((cell.function, cell.pins, arcs), []).append(cell)
        self.cells: list[TimedCell] = []
        self.family: list[int] = []
        self.families: list[list[int]] = []
        for members in families.values():
            members.sort(key=lambda cell: (_strength(cell), cell.area_um2, cell.name))
            self.families.append([len(self.cells) + n for n in range(len(members))])
            self.family += [len(self.families) - 1] * len(members)
            self.cells += members
        self.number = {cell.name: n for n, cell in enumerate(self.cells)}
        self.area = np.array([cell.area_um2 for cell in self.cells])
        self.most_pins = max(len(cell.pins) for cell in self.cells)
        self._tables()
        self.load = np.zeros((len(self.cells), self.most_pins, 2))
        self.most = np.full((len(self.cells), self.most_pins), np.inf)
        self.is_input = np.zeros((len(self.cells), self.most_pins), dtype=bool)
        for n, cell in enumerate(self.cells):
            for place, pin in enumerate(cell.pins):
                self.is_input[n, place] = pin in cell.loads
                self.load[n, place] = cell.loads.get(pin, (0.0, 0.0))
                self.most[n, place] = cell.most.get(pin, np.inf)

    def _tables(self) -> None:
        """Store all tables in arrays; tables of a cell are in the order of its arcs."""
        pairs = []
        self.first_arc, self.first_check = [], []
        for cell in self.cells:
            self.first_arc.append(len(pairs))
            pairs += [(arc.delay, arc.slew) for _, arc in sorted(cell.arcs.items())]
            self.first_check.append(len(pairs))
            pairs += [(check.setup, check.setup) for _, check in sorted(cell.checks.items())]
        slews = max((len(one.slews) for pair in pairs for one in pair), default=2)
        loads = max((len(one.loads) for pair in pairs for one in pair), default=2)
        self.slews = np.zeros((len(pairs), slews))
        self.loads = np.zeros((len(pairs), loads))
        self.delay = np.zeros((len(pairs), slews, loads))
        self.slew = np.zeros((len(pairs), slews, loads))
        for n, (delay, slew) in enumerate(pairs):
            self.slews[n] = _longer(delay.slews[:, None], slews)[:, 0]
            self.loads[n] = _longer(delay.loads[:, None], loads)[:, 0]
            self.delay[n] = _grid(delay.values, slews, loads)
            self.slew[n] = _grid(slew.values, slews, loads)
        self.first_arc = np.array(self.first_arc, dtype=np.int64)
        self.first_check = np.array(self.first_check, dtype=np.int64)

    def look_up(self, table: Ints, slew: Floats, load: Floats) -> "Found":
        """Return delays and slews from tables, with their derivatives."""
        s = (self.slews[table, 1:-1] <= slew[:, None]).sum(1)
        c = (self.loads[table, 1:-1] <= load[:, None]).sum(1)
        s0, c0 = self.slews[table, s], self.loads[table, c]
        ds, dc = self.slews[table, s + 1] - s0, self.loads[table, c + 1] - c0
        fs, fc = (slew - s0) / ds, (load - c0) / dc
        values = []
        for of in (self.delay, self.slew):
            a, b = of[table, s, c], of[table, s, c + 1]
            d, e = of[table, s + 1, c], of[table, s + 1, c + 1]
            low, high = a + (b - a) * fc, d + (e - d) * fc
            by_load = ((b - a) * (1 - fs) + (e - d) * fs) / dc
            values += [low + (high - low) * fs, (high - low) / ds, by_load]
        return Found(*values)


@dataclass(frozen=True)
class Found:
    """Delays and slews from tables, with their derivatives by slew and load."""

    delay: Floats
    delay_by_slew: Floats
    delay_by_load: Floats
    slew: Floats
    slew_by_slew: Floats
    slew_by_load: Floats


def _strength(cell: TimedCell) -> float:
    """Return the negated load sensitivity of a cell, which sorts weak cells first."""
    tables = [arc.delay for arc in cell.arcs.values()]
    rises = [(t.values[0, -1] - t.values[0, 0]) / (t.loads[-1] - t.loads[0]) for t in tables]
    return -max(rises, default=0.0)


def _longer(values: Floats, length: int) -> Floats:
    """Return values with additional rows by linear extrapolation."""
    while len(values) < length:
        values = np.concatenate([values, 2 * values[-1:] - values[-2:-1]])
    return values


def _grid(values: Floats, rows: int, columns: int) -> Floats:
    return _longer(_longer(values, rows).T, columns).T


def sums(places: Ints, values: Floats, length: int) -> Floats:
    """Return the sum of the values for each of ``length`` indices."""
    return np.bincount(places, values, minlength=length).astype(np.float64)
