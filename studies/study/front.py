"""Pareto fronts: figures that no other point matches or improves in all objectives."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Front"]

Array = NDArray[np.float64]


class Front:
    """Figures of the non-dominated points; smaller figures are better.

    Parameters
    ----------
    objectives : int
        Figures of a point.
    """

    def __init__(self, objectives: int) -> None:
        self.figures: Array = np.empty((0, objectives))

    def add(self, figures: Iterable[Sequence[float]]) -> None:
        """Add the figures of points."""
        rows = np.array([*figures], float).reshape(-1, self.figures.shape[1])
        rows = rows[~self.reaches(rows)]
        rows = rows[np.argsort(rows.sum(axis=1), kind="stable")]
        while len(rows):  # nothing behind the first one reaches its sum, and so none reaches it
            first = rows[:1]
            worse = (first <= self.figures).all(axis=1)
            self.figures = np.concatenate((self.figures[~worse], first))
            rows = rows[~(first <= rows).all(axis=1)]

    def reaches(self, figures: Array) -> NDArray[np.bool_]:
        """Return for each row whether a point of the front is at least as good in all figures."""
        found = np.zeros(len(figures), bool)
        for one in self.figures:
            found |= (one <= figures).all(axis=1)
        return found

    def has(self, figures: Sequence[float]) -> bool:
        """Return whether the front contains the given figures."""
        return bool((self.figures == figures).all(axis=1).any())
