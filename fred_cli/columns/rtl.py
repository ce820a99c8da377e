"""Columns of `fred reproduce --rtl`: a row compares a phase in RTL simulation with the model."""

from operator import attrgetter

from .column import Column, Columns

__all__ = ["COLUMNS", "SUMMARY"]

COLUMNS = Columns(
    [
        Column(attrgetter("strategy"), "strategy", "strategy", number=False),
        Column(attrgetter("phase"), "phase", "phase", number=False),
        Column(attrgetter("collectives"), "collectives", "collectives", number=False),
        Column(attrgetter("evidence"), "class", "class", number=False),
        Column(attrgetter("flits"), "flits", "flits"),
        Column(attrgetter("rtl_cycles"), "rtl_cycles", "RTL [cycles]"),
        Column(attrgetter("model_cycles"), "model_cycles", "model [cycles]", "{:.0f}"),
        Column(attrgetter("error"), "error", "error %", lambda row: f"{100 * row.error:+z.1f}"),
        Column(attrgetter("ok"), "ok", "verdict", lambda row: "ok" if row.ok else "MISS"),
    ]
)

SUMMARY = Columns(
    [
        Column(attrgetter("what"), "what", "phases", number=False),
        Column(attrgetter("rows"), "rows", "rows"),
        Column(attrgetter("ok"), "ok", "within"),
        Column(attrgetter("worst"), "worst", "worst %", lambda one: f"{100 * one.worst:.1f}"),
        Column(attrgetter("mean"), "mean", "mean %", lambda one: f"{100 * one.mean:.1f}"),
        Column(attrgetter("worst_cycles"), "worst_cycles", "worst [cycles]", "{:.0f}"),
    ]
)
