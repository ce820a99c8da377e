"""Columns of `fred sweep` of traces: a row is a run."""

from operator import attrgetter
from typing import Any

from .column import Column, Columns, speedup_text

__all__ = ["COLUMNS"]

_RUN = ("traces", "system", "network_model", "num_queues_per_dim", "network")
_TIMES = ("total", "compute", "communication", "overlap", "exposed_communication")


def _time(name: str) -> Column:
    """Return a column with a time of the last rank; empty where nothing ran."""

    def value(row: Any) -> int | None:
        return None if row.last is None else getattr(row.last, f"{name}_ns")

    def text(row: Any) -> str:
        return f"{value(row):,}"

    return Column(value, f"{name}_ns", name.replace("_", " "), text)


COLUMNS = Columns(
    [
        *(Column(attrgetter(name), name, name.replace("_", " "), number=False) for name in _RUN),
        *map(_time, _TIMES),
        Column(attrgetter("speedup"), "speedup", "speed-up", speedup_text),
        Column(attrgetter("problem"), "problem"),
    ]
)
