"""Screening of a study: the points that lower bounds of the objectives exclude."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .front import Front
from .plan import CHUNK, Plan
from .point import Row
from .shared import Numbers
from .store import Store

__all__ = ["Screen", "figures_of", "write_screened"]

Array = NDArray[np.float64]


class Screen:
    """Points in the order of their bounds, without those that cannot be on the front.

    A point is left out if a simulated point is as good as its bound in all objectives. So the best
    point and every figure of the front are found.

    Parameters
    ----------
    numbers : array
        The points.
    bounds : array
        A row of lower bounds of the objectives for each.
    """

    def __init__(self, numbers: Numbers, bounds: Array) -> None:
        largest = bounds.max(axis=0, initial=0.0)
        largest[largest == 0.0] = 1.0
        order = np.argsort((bounds / largest).sum(axis=1), kind="stable")
        self._numbers, self._bounds = numbers[order], bounds[order]
        self._skipped = np.zeros(len(order), bool)
        self.front = Front(bounds.shape[1])

    def __iter__(self) -> Iterator[int]:
        """Yield points to simulate; each choice uses the front at the time of the request."""
        place, known = 0, None
        while place < len(self._numbers):
            if known is not self.front.figures:
                known = self.front.figures
                self._skipped[place:] = self.front.reaches(self._bounds[place:])
            left = np.flatnonzero(~self._skipped[place : place + CHUNK])
            if left.size == 0:
                place += CHUNK
                continue
            place += int(left[0]) + 1
            yield int(self._numbers[place - 1])

    @property
    def skipped(self) -> tuple[Numbers, Array]:
        """Points that were excluded, with their bounds."""
        return self._numbers[self._skipped], self._bounds[self._skipped]


def figures_of(rows: Iterable[Row], names: Sequence[str]) -> list[tuple[float, ...]]:
    """Return the named figures of the rows that have all of them."""
    return [
        tuple(row[name] for name in names)
        for row in rows
        if all(row.get(name) is not None for name in names)
    ]


def write_screened(plan: Plan, store: Store, numbers: Numbers, bounds: Array) -> int:
    """Write the excluded points and their bounds as a table; return their number."""
    columns: dict[str, Any] = {"key": plan.keys(numbers)}
    columns["study"] = [plan.source] * len(numbers)
    columns |= plan.varied_values(numbers)
    bound = (one.tolist() for one in bounds.T)
    columns |= dict(zip((f"bound.{name}" for name in plan.objectives), bound, strict=True))
    store.write_table("screened", plan.digest, columns)
    return len(numbers)
