"""Columns of the report's tables on what was run to verify the hardware."""

from collections.abc import Mapping
from operator import attrgetter, itemgetter
from typing import Any

from .column import Column, Columns

__all__ = ["ATTACKS", "COVERAGE", "NETLIST_MUTANTS", "PROPERTIES", "SOURCE_MUTANTS", "SUMMARIES"]

SUMMARIES = Columns(
    [
        Column(attrgetter("name"), "evidence", "evidence", number=False),
        Column(attrgetter("result"), "result", "result", number=False),
        Column(attrgetter("omits"), "does_not_show", "does not show", number=False),
        Column(attrgetter("run"), "run", "run", number=False),
        Column(attrgetter("command"), "command", "repeat with", number=False),
    ]
)


def _without_code(value: str) -> str:
    """Return a text without the marks of code in Markdown."""
    return value.replace("`", "")


def _depth(row: Mapping[str, Any]) -> str:
    """Return the method of a proof, with the depth of a bounded one."""
    return f"{row['cycles']} cycles" if row["cycles"] else row["method"]


PROPERTIES = Columns(
    [
        Column(itemgetter("name"), "property", "property", number=False),
        Column(
            itemgetter("shows"),
            "shows",
            "shows",
            lambda row: _without_code(row["shows"]),
            number=False,
        ),
        Column(_depth, "depth", "depth", number=False),
        Column(itemgetter("omits"), "does_not_show", "does not show", number=False),
        Column(itemgetter("killed_after"), "mutant_refuted_in_cycles", "mutant [cycles]"),
        Column(itemgetter("seconds"), "time_s", "time [s]", "{:.1f}"),
    ]
)

COVERAGE = Columns(
    [
        Column(attrgetter("kind"), "kind", "kind", number=False),
        Column(
            attrgetter("meaning"),
            "meaning",
            "counts",
            lambda row: _without_code(row.meaning),
            number=False,
        ),
        Column(attrgetter("reached"), "reached", "reached", "{:,}"),
        Column(attrgetter("places"), "of", "of", "{:,}"),
        Column(attrgetter("share"), "share", "share"),
        Column(attrgetter("excluded"), "excluded", "excluded", "{:,}"),
    ]
)


def _scores(name: str, equivalent: str) -> Columns:
    """Return the columns of scores of mutants."""
    return Columns(
        [
            Column(attrgetter("name"), name, name, number=False),
            Column(attrgetter("mutants"), "mutants", "mutants"),
            Column(attrgetter("killed"), "killed", "killed"),
            Column(attrgetter("equivalent"), equivalent, equivalent),
            Column(attrgetter("survived"), "survived", "survived"),
            Column(attrgetter("score"), "score", "score"),
        ]
    )


NETLIST_MUTANTS = _scores("unit", "equivalent")
SOURCE_MUTANTS = _scores("area", "judged equivalent")

ATTACKS = Columns(
    [
        Column(itemgetter("date"), "date", "date", number=False),
        Column(itemgetter("version"), "version", "version", number=False),
        Column(itemgetter("seed"), "seed", "seed"),
        Column(itemgetter("minutes"), "minutes", "minutes"),
        Column(lambda row: sum(row["kinds"].values()), "cases", "cases"),
        Column(lambda row: len(row["designs"]), "designs", "designs"),
        *(
            Column(itemgetter(name), name, title, "{:,}")
            for name, title in (
                ("flits", "flits"),
                ("faults", "faults"),
                ("resets", "resets"),
                ("writes", "register writes"),
            )
        ),
        Column(lambda row: len(row["failures"]), "failures", "failures"),
    ]
)
