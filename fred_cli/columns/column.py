"""A column of a table, declared once for terminal, CSV, JSON and report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_cli.output import as_csv, plain, table, write_text

__all__ = ["Column", "Columns", "figure", "milliseconds", "speedup_text"]


@dataclass(frozen=True)
class Column:
    """A column; columns appear in the CSV in the order of their declaration.

    Parameters
    ----------
    value : Callable
        Returns the cell of the CSV, and the value in JSON, for a row.
    csv : str
        Heading in the CSV; empty if the column is not in the CSV.
    title : str
        Heading in the terminal; empty if the column is not shown there.
    text : str or Callable
        Format of the value in the terminal, or a function from a row to its text.
    json : str
        Key in JSON in addition to the row's own figures; empty if there is none.
    page : str
        Heading on the page of the report, if it differs from that in the terminal.
    last : bool
        Whether it comes after the others in the terminal and on the page.
    number : bool
        Whether it is right-aligned on the page.
    """

    value: Callable[[Any], object]
    csv: str = ""
    title: str = ""
    text: str | Callable[[Any], str] = "{}"
    json: str = ""
    page: str = ""
    last: bool = False
    number: bool = True

    def shown(self, row: object) -> str:
        """Return the value of a row as text, for the terminal and the page; "-" for None."""
        if isinstance(self.text, str):
            value = self.value(row)
            return "-" if value is None else self.text.format(value)
        return self.text(row)


class Columns:
    """The columns of one table.

    Parameters
    ----------
    columns : sequence of Column
        All columns.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.all = tuple(columns)
        titled = sorted((one for one in columns if one.title), key=lambda one: one.last)
        self.titled = tuple(titled)
        self.written = tuple(one for one in columns if one.csv)

    def without(self, *csv: str) -> "Columns":
        """Return the columns except those with the given CSV headings."""
        return Columns([one for one in self.all if one.csv not in csv])

    def replacing(self, csv: str, column: Column) -> "Columns":
        """Return the columns with one replaced, identified by its CSV heading."""
        return Columns([column if one.csv == csv else one for one in self.all])

    def print(self, title: str, rows: Sequence[object]) -> None:
        """Print the table."""
        cells = [[one.shown(row) for one in self.titled] for row in rows]
        table(title, [one.title for one in self.titled], cells)

    def csv(self, rows: Sequence[object]) -> str:
        """Return the table as CSV text."""
        cells = [[one.value(row) for one in self.written] for row in rows]
        return as_csv([one.csv for one in self.written], cells)

    def write(self, rows: Sequence[object], path: Path | None) -> None:
        """Write the table as CSV atomically if a path is given.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        if path is not None:
            write_text(self.csv(rows), path)

    def json(self, figures: object, row: object) -> dict[str, Any]:
        """Return the figures of a row, including the derived figures of its columns."""
        return {**plain(figures), **{one.json: one.value(row) for one in self.all if one.json}}


def milliseconds(seconds: float, over: int = 1) -> str:
    """Return a time in ms, or as a share of ``over``, without the unit."""
    return f"{seconds * 1e3 / over:,.3f}"


def speedup_text(row: Any) -> str:
    """Return the speed-up of a row as text; rows may have none."""
    return "-" if row.speedup is None else f"{row.speedup:.3f}"


def figure(value: float | str) -> str:
    """Return a figure of any magnitude as text, or a word that replaces it."""
    return value if isinstance(value, str) else f"{value:,.4g}"
