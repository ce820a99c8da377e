"""Values that many points of a space share, each computed once."""

from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .space import Space

__all__ = ["Numbers", "Shared"]

T = TypeVar("T")

Numbers = NDArray[np.int64]
"""Numbers of points."""

_MOST = 200_000
"""Largest number of cached values."""


class Shared(Generic[T]):
    """Cache of a value that depends only on some fields of a point.

    Parameters
    ----------
    space : Space
        The points.
    roots : collection of str
        First parts of the names of these fields, such as ``topology``.
    find : callable
        Returns the value of a point, given its number. It is called once for all points that
        have the same steps of the groups with these fields.
    """

    def __init__(self, space: Space, roots: Collection[str], find: Callable[[int], T]) -> None:
        self._find = find
        self._known: dict[int, T] = {}
        self._digits = [
            (stride, len(steps))
            for stride, steps in zip(space.strides, space.groups, strict=True)
            if len(steps) > 1 and any(name.partition(".")[0] in roots for name in steps[0])
        ]

    def of(self, numbers: Numbers) -> tuple[list[T], NDArray[np.intp]]:
        """Return the distinct values of the given points, and each point's index into them."""
        codes = np.zeros_like(numbers)
        for stride, count in self._digits:
            codes = codes * count + numbers // stride % count
        found, first, index = np.unique(codes, return_index=True, return_inverse=True)
        if len(self._known) > _MOST:
            self._known.clear()
        values: list[T] = []
        for code, at in zip(found.tolist(), first.tolist(), strict=True):
            if code not in self._known:
                self._known[code] = self._find(int(numbers[at]))
            values.append(self._known[code])
        return values, index

    def each(self, numbers: Numbers) -> NDArray[Any]:
        """Return the value of each point; values that are sequences become rows."""
        values, index = self.of(numbers)
        return np.asarray(values)[index]
