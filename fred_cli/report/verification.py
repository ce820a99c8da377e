"""Section of the report on what was run to verify the hardware."""

from typing import Any, NamedTuple

from fred_cli.columns.column import Column
from fred_cli.columns.verification import (
    ATTACKS,
    COVERAGE,
    NETLIST_MUTANTS,
    PROPERTIES,
    SOURCE_MUTANTS,
    SUMMARIES,
)
from testbench.evidence import summary

from .download import download

__all__ = ["Folded", "verification"]


class Folded(NamedTuple):
    """A table that is folded on the page.

    Parameters
    ----------
    title : str
        Title of the table.
    columns, rows
        Its columns and rows.
    stacked : bool
        Whether the cells of a row follow each other in a narrow window, as texts need.
    """

    title: str
    columns: tuple[Column, ...]
    rows: list[Any]
    stacked: bool = False


def verification() -> dict[str, Any]:
    """Return the content of the section, from the records of the package."""
    records = summary.read()
    properties = records[summary.PROOFS]["properties"]
    netlists = summary.netlist_scores(records[summary.NETLIST_MUTANTS])
    sources = summary.source_scores(records[summary.SOURCE_MUTANTS])
    counted = summary.counted(records[summary.COVERAGE])
    rows = [one for some in summary.summaries(records).values() for one in some]
    return {
        "verified": rows,
        "verified_columns": SUMMARIES.titled,
        "verified_details": [
            Folded(f"{len(properties)} properties", PROPERTIES.titled, properties, stacked=True),
            Folded("Mutants of netlists by unit", NETLIST_MUTANTS.titled, netlists),
            Folded("Coverage by kind", COVERAGE.titled, counted),
            Folded("Mutants of sources by area", SOURCE_MUTANTS.titled, sources),
            Folded("Runs of attacks", ATTACKS.titled, records[summary.ATTACKS]),
        ],
        "properties_csv": download(PROPERTIES.csv(properties)),
    }
