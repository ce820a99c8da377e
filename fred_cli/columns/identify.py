"""Columns of compute times implied by published speed-ups: a row is a workload."""

from typing import Any

from .column import Column, Columns, milliseconds

__all__ = ["COLUMNS"]


def _least(row: Any) -> str:
    return milliseconds(row.compute_s[0]) if row.identified else "none"


def _speedups(row: Any) -> str:
    low, high = row.speedup_d
    return f"{low:.3f} to {high:.3f}"


COLUMNS = Columns(
    [
        Column(lambda row: row.workload, title="workload", number=False),
        Column(lambda row: row.published, title="FRED-C, published"),
        Column(lambda row: row.compute_s[0], title="least compute [ms]", text=_least),
        Column(
            lambda row: row.compute_s[1],
            title="most compute [ms]",
            text=lambda row: milliseconds(row.compute_s[1]),
        ),
        Column(lambda row: row.speedup_d, title="FRED-D over that", text=_speedups),
        Column(
            lambda row: row.identified,
            title="compute",
            text=lambda row: "identified" if row.identified else "not identified",
            number=False,
        ),
    ]
)
