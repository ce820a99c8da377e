"""Columns of `fred cluster`: a row is a strategy, or the cluster with varied resources."""

from collections.abc import Callable, Sequence
from typing import Any

from .column import Column, Columns, speedup_text

__all__ = ["COLUMNS", "PARTS", "variant_columns"]

PARTS = {
    "forward": "#9aa3ae",
    "recompute": "#5f6b78",
    "backward": "#c3c9d0",
    "optimizer": "#cc79a7",
    "mp": "#0072b2",
    "pp": "#009e73",
    "dp": "#d55e00",
    "bubble": "#e69f00",
    "ep": "#8c5a2b",
}
"""Parts of an iteration: fields of `Times` without their unit, with colours."""

_COMPUTE = ("forward", "recompute", "backward", "optimizer")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"


def _part(name: str) -> Column:
    """Return the column of a part; the terminal shows the sum of the four compute parts."""

    def value(row: Any) -> float | None:
        return None if row.times is None else getattr(row.times, f"{name}_s")

    title = "" if name in _COMPUTE else name
    return Column(value, f"{name} [s]", title, lambda row: _seconds(value(row)))


def _compute(row: Any) -> str:
    return _seconds(row.times and sum(getattr(row.times, f"{name}_s") for name in _COMPUTE))


def _unconstrained_s(row: Any) -> float:
    return row.unconstrained.total_s


def _bytes(name: str) -> Column:
    def value(row: Any) -> float:
        return getattr(row.footprint, f"{name}_bytes")

    return Column(value, f"{name} [B]", f"{name} [GB]", lambda row: f"{value(row) / 1e9:,.1f}")


COLUMNS = Columns(
    [
        Column(
            lambda row: row.strategy,
            "strategy",
            "strategy",
            lambda row: row.strategy + ("" if row.fits else " *"),
            number=False,
        ),
        _bytes("states"),
        _bytes("activations"),
        Column(lambda row: row.footprint.total_bytes, "total [B]"),
        Column(lambda row: row.expanded_share, "expanded share", "beyond local", "{:.0%}"),
        Column(lambda row: row.bytes_per_s, "memory [B/s]"),
        Column(lambda row: row.time_s, "iteration [s]", "iteration", lambda r: _seconds(r.time_s)),
        Column(_compute, title="compute", text=_compute),
        *map(_part, PARTS),
        Column(_unconstrained_s, "unconstrained [s]", "if it fitted", "{:,.3f}"),
        Column(lambda row: row.fits, "fits", json="fits"),
    ]
)


def variant_columns(names: Sequence[str]) -> Columns:
    """Return the columns of variants, given the parameters that vary."""

    def varied(name: str) -> Column:
        return Column(lambda row: row.values[name], name, name, "{:g}")

    def of_best(value: Callable[[Any], object]) -> Callable[[Any], Any]:
        return lambda row: None if row.best.feasible is None else value(row.best.feasible)

    fastest, time_s = of_best(lambda one: one.strategy), of_best(lambda one: one.time_s)
    return Columns(
        [
            *map(varied, names),
            Column(fastest, "best", "best that fits", lambda row: fastest(row) or "none"),
            Column(time_s, "iteration [s]", "iteration", lambda row: _seconds(time_s(row))),
            Column(lambda row: row.speedup, "speedup", "speed-up", speedup_text),
            Column(
                lambda row: row.best.unconstrained.strategy, "unconstrained", "best if all fitted"
            ),
            Column(
                lambda row: _unconstrained_s(row.best.unconstrained),
                "unconstrained [s]",
                "iteration then",
                "{:,.3f}",
            ),
        ]
    )
