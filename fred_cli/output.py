"""Output of commands: JSON, tables and errors."""

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from fred_hw.errors import FieldError, InputError
from fred_hw.optional import needed
from fred_hw.visible import visible

__all__ = [
    "arrow_csv",
    "as_csv",
    "checked",
    "json_text",
    "need_plotly",
    "option_names",
    "plain",
    "print_above_peak",
    "print_json",
    "print_provenance",
    "table",
    "write_given",
    "write_json",
    "write_text",
]

_FORMULAS = ("=", "+", "-", "@", "\t", "\n", "|")
_NUMBER = re.compile(r"[-+][0-9][0-9,]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?%?")

_FILE_WIDTH = 180  # width in characters of a table in a file or a pipe


def plain(value: Any) -> Any:
    """Return ``value`` converted to JSON types."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Sequence | Set):
        return [plain(item) for item in value]
    return str(value)


def print_json(value: Any) -> None:
    """Print ``value`` as the one JSON object on standard output."""
    print(json_text(value), end="")


def json_text(value: Any) -> str:
    """Return ``value`` as the text of a JSON file."""
    return json.dumps(plain(value), indent=1) + "\n"


def write_json(value: Any, path: Path) -> None:
    """Write ``value`` as JSON to ``path`` atomically.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    write_text(json_text(value), path)


def write_text(text: str, path: Path) -> None:
    """Write ``text`` to ``path`` atomically.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    from gen.write import write_outputs

    write_outputs({path: text})


def write_given(files: Mapping[Path | None, Callable[[], str | bytes]]) -> None:
    """Write the results of functions to the given paths, all of them or none.

    Raises
    ------
    InputError
        A file cannot be written.
    """
    from gen.write import write_outputs

    write_outputs({path: content() for path, content in files.items() if path})


def as_csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table as CSV text; None is an empty cell.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_cell(one) for one in row] for row in (columns, *rows))
    return text.getvalue()


def arrow_csv(found: Any) -> str:
    """Return a ``pyarrow.Table`` as CSV text, like :func:`as_csv`."""
    columns = [column.to_pylist() for column in found.columns]
    return as_csv(found.column_names, list(zip(*columns, strict=True)))


def _cell(value: object) -> object:
    if isinstance(value, str):
        value = value.replace("\r", "\\r")  # ends a line for some readers; csv does not quote it
    if isinstance(value, str) and value.startswith(_FORMULAS) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; the first column is text, numbers are right-aligned."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    view = Table(
        title=Text(visible(title), style="italic"), title_justify="left", box=box.SIMPLE_HEAD
    )
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) or _numeric(row[index]) for row in rows)
        view.add_column(
            Text(column), justify="right" if index and numeric else "left", no_wrap=numeric
        )
    for row in rows:
        view.add_row(*(Text(visible(str(cell))) for cell in row))
    file = getattr(sys.stdout, "stream", sys.stdout)  # the wrapped stream lets styles through
    console = Console(file=file, highlight=False)
    if not console.is_terminal:
        console = Console(file=file, highlight=False, width=_FILE_WIDTH)
    console.print(view)


def _numeric(cell: object) -> bool:
    text = str(cell)
    return bool(text) and (text[0].isdigit() or text[0] in "-+")


@contextmanager
def checked(source: str, field: str = "", *, spec: str = "") -> Iterator[None]:
    """Convert a ValueError of a library to an error message with ``source`` and ``field``.

    For a specification it names the field at fault, and with ``spec`` the source of the field.
    """
    try:
        yield
    except FieldError as error:
        raise InputError(spec or source, error.field, error.message) from None
    except (ValueError, TypeError) as error:
        # The message of a check of a single value starts with the name of the option.
        message = str(error).removeprefix(f"{source.removeprefix('--').replace('-', '_')} ")
        raise InputError(source, field, message) from None


@contextmanager
def option_names(*names: str) -> Iterator[None]:
    """Add option names to errors of lower packages, which do not know where a value came from."""
    try:
        yield
    except InputError as error:
        for name in names:
            option = f"--{name.replace('_', '-')}"
            if name in (error.source, error.field) and "" in (error.source, error.field):
                raise InputError(option, "", error.message) from None
            # The message of a check of a single number starts with the number's name.
            if not error.source and not error.field and error.message.startswith(f"{name} must"):
                message = error.message.removeprefix(f"{name} ")
                raise InputError(option, "", message) from None
        raise


def print_provenance(provenance: Any) -> None:
    """Print the provenance of figures."""
    for use in provenance.records:
        latency = (
            ""
            if use.latency_cycles is None
            else f"{use.latency_cycles} cycles ({use.latency_s * 1e9:.1f} ns), "
        )
        ports = use.interpolated_ports
        latency += f"interpolated to {ports} ports, " if ports else ""
        print(
            f"  {use.switches}: {latency}{use.efficiency:.1%} payload, "
            f"record {use.record} of the {use.measured}, {use.measured_by}"
        )
    for assumption in provenance.assumptions:
        print(f"  assumed: {assumption}")


def print_above_peak(estimates: Iterable[Any]) -> None:
    """Print the workloads whose calibrated compute exceeds the NPU's peak.

    If the compute model does not give the rate, this is printed instead.
    """
    shares: dict[str, float] = {}
    unknown: dict[str, None] = {}
    for e in estimates:
        if e.peak_share is None:
            unknown[e.workload] = None
        else:
            shares[e.workload] = max(e.peak_share, shares.get(e.workload, 1.0))
    above = ", ".join(f"{name} {share:.3g}" for name, share in shares.items() if share > 1)
    if above:
        print(f"compute above the peak of the NPU, times: {above}")
    if unknown:
        print(
            f"compute not identified: {', '.join(unknown)}; docs/explanation/fidelity.md says why"
        )


def need_plotly() -> None:
    """Fail unless plotly is installed.

    Raises
    ------
    InputError
        plotly is not installed.
    """
    with needed("plotly", "charts", "fred-hw[report]"):
        import_module("plotly")
