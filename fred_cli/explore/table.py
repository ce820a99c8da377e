"""Rows of a store at one moment, organized by column."""

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from fred_hw.errors import InputError
from studies.study.file import ROOTS, SWITCH_ROOTS, TRACE_ROOTS
from studies.study.inputs import SIZES
from studies.study.store import PROVENANCE, Store

__all__ = ["Floats", "Integers", "Source", "Table", "text"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_HIDDEN = (*PROVENANCE, "rank")
"""Columns that do not describe a point: provenance, and the reported NPU's number."""

_FILES = (
    *("topology.", "workload.", "npu.", "remote_memory.", "specification."),
    *("energy.file.", "endpoint.file."),
)
_INPUTS = {*ROOTS, *SWITCH_ROOTS, *TRACE_ROOTS, *SIZES, "npus", "workers", "mode"}
"""First parts of input column names besides file keys; all other columns are figures."""


class Table:
    """The rows of a store at the time they were read.

    Parameters
    ----------
    arrow : pyarrow.Table
        All columns of all points.
    """

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow
        self._floats: dict[str, Floats] = {}
        self._codes: dict[str, tuple[Integers, tuple[str, ...]]] = {}
        self._distinct: dict[str, int] = {}
        self._orders: dict[str, Integers] = {}

    def __len__(self) -> int:
        return self._arrow.num_rows

    @cached_property
    def varied(self) -> tuple[str, ...]:
        """Columns with two or more distinct values: inputs first, then figures.

        If no figure has two values, all figures are included, since they are what a study is for.
        """
        names = self._arrow.column_names
        # The seed is an input of a switch: that of the stimulus of its simulator.
        shown = [
            name
            for name in names
            if name not in _HIDDEN or (name == "seed" and "specification" in names)
        ]
        several = [name for name in shown if self._has_several(name)]
        inputs = [name for name in several if self.is_input(name)]
        figures = [name for name in several if name not in inputs]
        return (*inputs, *(figures or (name for name in shown if not self.is_input(name))))

    @cached_property
    def keys(self) -> dict[str, int]:
        """Index of each row, by the key of its point."""
        return {key: place for place, key in enumerate(self._arrow["key"].to_pylist())}

    @cached_property
    def failed(self) -> int:
        """Number of points that have an error instead of figures."""
        return len(self) - self._arrow["error"].null_count

    def is_input(self, name: str) -> bool:
        """Return whether a column is an input of points rather than a figure."""
        return name in _INPUTS or name.startswith(_FILES)

    def is_number(self, name: str) -> bool:
        """Return whether the values of a column are numbers."""
        types: Any = import_module("pyarrow.types")
        kind = self._arrow.schema.field(name).type
        return types.is_integer(kind) or types.is_floating(kind)

    def distinct(self, name: str) -> int:
        """Return the number of distinct values of a column."""
        if name not in self._distinct:
            compute: Any = import_module("pyarrow.compute")
            self._distinct[name] = compute.count_distinct(self._arrow[name], mode="all").as_py()
        return self._distinct[name]

    def numbers(self, name: str) -> Floats:
        """Return a column of numbers; NaN where a point has no number."""
        if name not in self._floats:
            column = self._arrow[name].cast("float64").combine_chunks()
            self._floats[name] = column.to_numpy(zero_copy_only=False)
        return self._floats[name]

    def order(self, name: str) -> Integers:
        """Return all rows in the order of a column; missing values come last."""
        if name not in self._orders:
            values = self.numbers(name) if self.is_number(name) else self.codes(name)[0]
            self._orders[name] = np.argsort(values, kind="stable")
        return self._orders[name]

    def codes(self, name: str) -> tuple[Integers, tuple[str, ...]]:
        """Return a column as indices into its sorted distinct values; "none" if missing."""
        if name not in self._codes:
            encoded = self._arrow[name].combine_chunks().dictionary_encode(null_encoding="encode")
            values = encoded.dictionary.to_pylist()
            order = sorted(range(len(values)), key=lambda place: _order(values[place]))
            rank = np.empty(len(values), np.int64)
            rank[order] = np.arange(len(values))
            codes = rank[encoded.indices.to_numpy(zero_copy_only=False)]
            self._codes[name] = codes, tuple(text(values[place]) for place in order)
        return self._codes[name]

    def row(self, place: int) -> dict[str, Any]:
        """Return one row, without empty columns."""
        found = self._arrow.slice(place, 1).to_pylist()[0]
        return {name: value for name, value in found.items() if value is not None}

    def rows(self, places: Sequence[int], names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the given columns of the given rows."""
        return _taken(self._arrow.select(list(names)), places).to_pylist()

    def take(self, places: Sequence[int]) -> Any:
        """Return the given rows with all columns, as a ``pyarrow.Table``."""
        return _taken(self._arrow, places)

    def _has_several(self, name: str) -> bool:
        compute: Any = import_module("pyarrow.compute")
        if self.is_number(name):
            ends = compute.min_max(self._arrow[name]).as_py()
            return ends["min"] != ends["max"]
        return compute.count_distinct(self._arrow[name]).as_py() > 1


class Source:
    """The rows of a store, read again after a run has added or removed some.

    Parameters
    ----------
    store : Store
        The store; another process may write it meanwhile.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = Lock()
        self._state: list[Any] = []
        self._table: Table | None = None

    def table(self) -> Table:
        """Return the current rows of the store.

        Raises
        ------
        InputError
            The store is empty or damaged.
        """
        with self._lock:
            state = self.store.state
            if self._table is None or state != self._state:
                rows = self.store.query("select * from points")
                if not rows.num_rows:
                    raise InputError(str(self.store.path), "", "must have a point, not none")
                self._table, self._state = Table(rows), state
            return self._table


def text(value: object) -> str:
    """Return a value as the text that the page shows."""
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _taken(arrow: Any, places: Sequence[int]) -> Any:
    return arrow.take(np.array(places, np.int64))  # typed, also without any places


def _order(value: object) -> tuple[bool, bool, Any]:
    """Return the sort key of a value: numbers, then texts, then missing values."""
    number = isinstance(value, int | float)
    return value is None, not number, value if number else str(value)
