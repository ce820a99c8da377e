"""The view of the page, stored in its address: axes, filters, selection, table and points."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import numpy.typing as npt

from fred_hw.choices import did_you_mean
from fred_hw.errors import InputError
from studies.study.file import FIGURES, SWITCH_FIGURES, TRACE_FIGURES
from studies.study.inputs import SIZES

from .table import Integers, Table

__all__ = ["MOST_GROUPS", "PAGE_ROWS", "Filter", "View", "among", "default_view", "read_view"]

PAGE_ROWS = 25
"""Number of table rows that are shown at a time."""

MOST_GROUPS = 8
"""Largest number of distinct values of a column by which points are coloured."""

_MOST_AXES = 6
_KEY_CHARACTERS = 64
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Filter:
    """A condition on the values of a column.

    Parameters
    ----------
    low, high : float or None
        Bounds of numbers, both included.
    values : tuple of str
        Texts that are let through; all if empty.
    """

    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()

    def mask(self, table: Table, name: str) -> _Mask:
        """Return which rows of a table pass the filter."""
        if table.is_number(name):
            numbers = table.numbers(name)
            found = np.ones(len(table), bool)
            if self.low is not None:
                found &= numbers >= self.low
            if self.high is not None:
                found &= numbers <= self.high
            return found
        if not self.values:
            return np.ones(len(table), bool)
        codes, known = table.codes(name)
        return np.isin(codes, [place for place, one in enumerate(known) if one in self.values])


@dataclass(frozen=True)
class View:
    """The part of a table that the page shows.

    Parameters
    ----------
    x, y : str
        Columns of numbers on the axes of the scatter plot; both empty if there are no charts.
    group : str
        Column whose values colour the points; empty for one colour.
    flags : frozenset of str
        Of ``xlog``, ``ylog`` (logarithmic axes), ``xmore``, ``ymore`` (more is better) and
        ``front`` (the table has the Pareto front alone).
    filters : mapping
        Filter of each column that has one.
    brush : tuple of float
        The selected rectangle: ends on the x axis, then ends on the y axis; empty for all points.
    columns : tuple of str
        Columns of the table, and axes of the parallel coordinates.
    sort : str
        Column that the table is sorted by, after a ``-`` if the largest comes first.
    page : int
        Page of the table, from 0 on.
    point, pin : str
        Keys of the point that is shown, and of the one that it is compared with.
    """

    x: str
    y: str
    group: str = ""
    flags: frozenset[str] = frozenset()
    filters: Mapping[str, Filter] = field(default_factory=dict[str, Filter])
    brush: tuple[float, ...] = ()
    columns: tuple[str, ...] = ()
    sort: str = ""
    page: int = 0
    point: str = ""
    pin: str = ""

    def shown(self, table: Table) -> Integers:
        """Return the rows that pass the filters and that both axes can show."""
        found = np.ones(len(table), bool)
        for name, one in self.filters.items():
            found &= one.mask(table, name)
        for name, flag in ((self.x, "xlog"), (self.y, "ylog")) if self.x else ():
            numbers = table.numbers(name)
            found &= numbers > 0 if flag in self.flags else np.isfinite(numbers)
        return np.flatnonzero(found)

    def brushed(self, table: Table, shown: Integers) -> Integers:
        """Return the rows that are in the selected rectangle."""
        if not (self.brush and self.x):
            return shown
        x, y = table.numbers(self.x)[shown], table.numbers(self.y)[shown]
        x0, x1, y0, y1 = self.brush
        return shown[(x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)]

    def front(self, table: Table, shown: Integers) -> Integers:
        """Return the Pareto front of the given rows, from left to right; none without axes."""
        if not self.x:
            return shown[:0]
        order = among(shown, table.order(self.x))
        x, y = table.numbers(self.x)[order], table.numbers(self.y)[order]
        if "xmore" in self.flags:
            order, x, y = order[::-1], x[::-1], y[::-1]
        if "ymore" in self.flags:
            y = -y
        best = np.minimum.accumulate(np.concatenate(([np.inf], y[:-1])))
        better = np.flatnonzero(y < best)
        last = np.append(x[better][1:] != x[better][:-1], True)[: len(better)]
        found = order[better[last]]
        return found[::-1] if "xmore" in self.flags else found

    def sorted(self, table: Table, rows: Integers) -> Integers:
        """Return the given rows in the order of the table."""
        name = self.sort.removeprefix("-") or self.y
        order = table.order(name) if name else np.arange(len(table))
        return among(rows, order[::-1] if self.sort.startswith("-") else order)

    def query(self) -> str:
        """Return the view as the query part of an address."""
        pairs: list[tuple[str, str]] = [("x", self.x), ("y", self.y)] if self.x else []
        pairs += [(flag, "1") for flag in sorted(self.flags)]
        pairs += [("column", name) for name in self.columns]
        for name, one in self.filters.items():
            pairs.append(("filter", name))
            bounds = (("min", one.low), ("max", one.high))
            pairs += [(f"{end}.{name}", f"{x:.12g}") for end, x in bounds if x is not None]
            pairs += [(f"is.{name}", value) for value in one.values]
        if self.brush:
            pairs.append(("brush", ",".join(f"{end:.12g}" for end in self.brush)))
        said = {"group": self.group, "sort": self.sort, "point": self.point, "pin": self.pin}
        pairs += [(name, value) for name, value in said.items() if value]
        return urlencode(pairs + ([("page", str(self.page))] if self.page else []))


def default_view(table: Table) -> View:
    """Return the view of an address without a query.

    The view has no axes if the table has no two columns of numbers with a figure among them, or if
    none of these columns varies.
    """
    inputs = [name for name in table.varied if table.is_input(name) and name.count(".") < 2]
    x, y = _axes(table, inputs)
    flags = {f"{axis}log" for axis, name in (("x", x), ("y", y)) if name and _is_wide(table, name)}
    short = [name for name in inputs if name in ("topology", "workload", "strategy")]
    short += [name for name in inputs if name.startswith("npu.") or name in ("npus", "algorithm")]
    short += [name for name in inputs if name not in short and name not in SIZES]
    figures = (x, y) if x else [name for name in table.varied if not table.is_input(name)]
    columns = _in_order({*short[: _MOST_AXES - 2], *figures[:_MOST_AXES]}, table)
    groups = [name for name in inputs if table.distinct(name) <= MOST_GROUPS]
    return View(x, y, groups[0] if groups else "", frozenset(flags), columns=columns)


def read_view(query: str, table: Table) -> View:
    """Return the view in the query part of an address.

    Raises
    ------
    InputError
        A column is unknown, or a value is not allowed.
    """
    pairs = parse_qsl(query, max_num_fields=2000)
    if not pairs:
        return default_view(table)
    first, many = dict(reversed(pairs)), dict[str, list[str]]()
    for key, value in pairs:
        many.setdefault(key, []).append(value)
    base = default_view(table)
    x, y = (
        _column(name, axis, table, number=True) if (name := first.get(axis, own)) else ""
        for axis, own in (("x", base.x), ("y", base.y))
    )
    if not (x and y):
        x = y = ""
    group, sort = first.get("group", ""), first.get("sort", "")
    if group and table.distinct(_column(group, "group", table)) > MOST_GROUPS:
        raise InputError("group", "", f"must have at most {MOST_GROUPS} values, not {group}")
    if sort:
        _column(sort.removeprefix("-"), "sort", table)
    names = dict.fromkeys(_column(name, "filter", table) for name in many.get("filter", []))
    return View(
        x,
        y,
        group,
        frozenset(flag for flag in _FLAGS if first.get(flag) == "1"),
        {name: _filter(name, first, many, table) for name in names},
        _brush(first.get("brush", "")),
        _in_order({_column(name, "column", table) for name in many.get("column", [])}, table),
        sort,
        int(page) if (page := first.get("page", "0")).isdecimal() else 0,
        first.get("point", "")[:_KEY_CHARACTERS],
        first.get("pin", "")[:_KEY_CHARACTERS],
    )


def _axes(table: Table, inputs: Sequence[str]) -> tuple[str, str]:
    """Return the columns of numbers for the axes of the default view; both empty if none fit."""
    numbers = [name for name in table.varied if table.is_number(name)]
    known = ("time_per_sample_s", *FIGURES, *SWITCH_FIGURES, *TRACE_FIGURES)
    figures = (*known, *(name for name in numbers if not table.is_input(name)))
    y = next((name for name in figures if name in numbers), "")
    across = ("energy.total_j", "memory.total_bytes", *inputs, *numbers)
    x = next((name for name in across if name in numbers and name != y), "")
    if not (x and y) or all(table.distinct(name) < 2 for name in numbers):
        return "", ""
    return x, y


_FLAGS = ("xlog", "ylog", "xmore", "ymore", "front")


def among(rows: Integers, order: Integers) -> Integers:
    """Return a subset of rows in the given order of all rows."""
    there = np.zeros(len(order), bool)
    there[rows] = True
    return order[there[order]]


def _in_order(names: Set[str], table: Table) -> tuple[str, ...]:
    return tuple(name for name in table.varied if name in names)


def _filter(
    name: str, first: Mapping[str, str], many: Mapping[str, Sequence[str]], table: Table
) -> Filter:
    if not table.is_number(name):
        return Filter(values=tuple(many.get(f"is.{name}", ())))
    low, high = (
        _number(text, f"{end}.{name}") if (text := first.get(f"{end}.{name}", "")) else None
        for end in ("min", "max")
    )
    return Filter(low, high)


def _brush(text: str) -> tuple[float, ...]:
    if not text:
        return ()
    ends = tuple(_number(one, "brush") for one in text.split(","))
    if len(ends) != 4:
        raise InputError("brush", "", f"must be four numbers, not {text!r}")
    return ends


def _number(text: str, name: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = np.nan
    if not np.isfinite(found):
        raise InputError(name, "", f"must be a number, not {text!r}")
    return found


def _column(name: str, field: str, table: Table, *, number: bool = False) -> str:
    known = [one for one in table.varied if not number or table.is_number(one)]
    if name not in known:
        what = "a column of numbers that vary" if number else "a column that varies"
        raise InputError(field, "", f"must be {what}, not {name!r}{did_you_mean(name, known)}")
    return name


def _is_wide(table: Table, name: str) -> bool:
    """Return whether a column's values are positive and suit a logarithmic axis."""
    numbers: Any = table.numbers(name)
    return np.nanmin(numbers) > 0 and np.nanmax(numbers) > 20 * np.nanmin(numbers)
