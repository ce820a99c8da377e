"""Command `fred study`."""

import json
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from fred_cli.command import Group
from fred_cli.numbers import IntegerFrom, Number
from fred_cli.options import InputPath, OutputPath, as_json_option, csv_option
from fred_cli.output import arrow_csv, plain, print_json, table, write_given
from fred_cli.progress import progress
from fred_hw.errors import InputError

__all__ = ["command"]

_SHOWN = 50
_EVERY_S = 1.0


@click.group("study", cls=Group, no_args_is_help=False)
def command() -> None:
    """Run studies, and query their results; every command here takes --json.

    STORE is the folder that `fred study run` writes.
    """


store_argument = click.argument("store", metavar="STORE", type=InputPath())


def _with_engine(function: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options of commands that compute points."""
    for option in reversed(
        (
            click.argument("file", type=InputPath()),
            click.option(
                "--output",
                "-o",
                "folder",
                type=OutputPath(folder=True),
                required=True,
                metavar="STORE",
                help="Folder of the results; points that it has are not computed again.",
            ),
            click.option(
                "--scheduler",
                metavar="ADDRESS",
                help="Dask cluster: tcp://HOST:PORT of one that runs, or slurm:KEY=VALUE,... to "
                "start one.  [default: processes of this machine]",
            ),
            click.option(
                "--workers",
                type=IntegerFrom(1, 4096),
                metavar="N",
                help="Processes of this machine, or jobs of Slurm.  "
                "[default: one for each processor, or one]",
            ),
            click.option(
                "--json-progress",
                is_flag=True,
                help="Write progress to standard error as lines of JSON.",
            ),
            as_json_option,
        )
    ):
        function = option(function)
    return function


@command.command("run", example="fred study run examples/study.yaml -o build/study")
@_with_engine
@click.option(
    "--screen",
    is_flag=True,
    help="Estimate the points with the least lower bounds first, and skip those that can be "
    "neither the best ones nor on the Pareto front.",
)
@click.option(
    "--retry-failed",
    is_flag=True,
    help="Estimate points again that failed before, for example because a worker ended or a "
    "simulator was not installed.",
)
def run(
    file: Path,
    folder: Path,
    scheduler: str | None,
    workers: int | None,
    json_progress: bool,
    as_json: bool,
    screen: bool,
    retry_failed: bool,
) -> None:
    """Estimate all points of the study in FILE that its store does not contain."""
    from studies.study.engine import open_engine
    from studies.study.run import run_study

    plan = _load(file)
    with _listener(json_progress) as listener:
        engine = partial(open_engine, scheduler, workers)
        options = {"screen": screen, "retry_failed": retry_failed}
        summary = run_study(plan, folder, engine, listener, **options)
    if as_json:
        print_json({"store": folder, **vars(summary)})
        return
    before = summary.points - summary.computed - summary.screened
    skipped = f"{summary.screened:,} skipped by their bounds, " if screen else ""
    print(
        f"{summary.points:,} points: {summary.computed:,} computed, {before:,} there before, "
        f"{skipped}{summary.failed:,} failed"
    )
    for text, removed in summary.excluded.items():
        print(f"  {removed:,} points do not satisfy {text}")
    _print_best(summary, plan)


@command.command(
    "optimize", example="fred study optimize examples/study.yaml -o build/study --points 100"
)
@_with_engine
@click.option(
    "--points",
    type=IntegerFrom(1, 10_000_000),
    metavar="N",
    help="Points to take in all, those of earlier searches of this study included.  "
    "[default: 1,000 without --minutes]",
)
@click.option(
    "--minutes",
    type=Number(0.001, 1e6),
    metavar="M",
    help="Time after which the search ends.",
)
def optimize(
    file: Path,
    folder: Path,
    scheduler: str | None,
    workers: int | None,
    json_progress: bool,
    as_json: bool,
    points: int | None,
    minutes: float | None,
) -> None:
    """Search the study in FILE for its best points and its Pareto front with Optuna."""
    from studies.study.engine import open_engine
    from studies.study.optimize import DEFAULT_POINTS, Budget, optimize_study

    plan = _load(file)
    if minutes is None:
        points = points or DEFAULT_POINTS
    budget = Budget(points, None if minutes is None else 60 * minutes)
    with _listener(json_progress) as listener:
        engine = partial(open_engine, scheduler, workers)
        summary = optimize_study(plan, folder, budget, engine, listener)
    if as_json:
        print_json({"store": folder, **vars(summary)})
        return
    before = summary.points - summary.computed
    print(
        f"{summary.points:,} of {len(plan.space):,} points taken: {summary.computed:,} computed, "
        f"{before:,} there before, {summary.failed:,} failed"
    )
    _print_best(summary, plan)


@command.command("query", example='fred study query build/study "select count(*) from points"')
@store_argument
@click.argument("sql", metavar="SQL")
@csv_option
@as_json_option
def query(store: Path, sql: str, csv_file: Path | None, as_json: bool) -> None:
    """Print the result of an SQL query (DuckDB) on the view `points`, one row per point."""
    from studies.study.store import open_store

    found = open_store(store).query(sql)
    write_given({csv_file: lambda: arrow_csv(found)})
    if as_json:
        print_json({"columns": found.column_names, "rows": found.to_pylist()})
        return
    shown = found.slice(0, _SHOWN)
    columns = [column.to_pylist() for column in shown.columns]
    rows = [[_cell(value) for value in row] for row in zip(*columns, strict=True)]
    table(f"{found.num_rows:,} rows", found.column_names, rows)
    if found.num_rows > _SHOWN:
        print(f"the first {_SHOWN} of {found.num_rows:,} rows; --csv and --json have all")


@command.command("export", example="fred study export build/study build/study.csv")
@store_argument
@click.argument("file", type=OutputPath())
@as_json_option
def export(store: Path, file: Path, as_json: bool) -> None:
    """Write all rows to FILE, a .csv or .parquet file."""
    from studies.study.store import open_store, parquet_bytes

    writers: dict[str, Callable[[Any], str | bytes]] = {
        ".csv": arrow_csv,
        ".parquet": parquet_bytes,
    }
    if (write := writers.get(file.suffix)) is None:
        raise InputError("FILE", "", f"must end in .csv or .parquet, not {file.name!r}")
    found = open_store(store).query("select * from points")
    write_given({file: lambda: write(found)})
    if as_json:
        print_json({"file": file, "rows": found.num_rows, "columns": found.column_names})
        return
    print(f"{file}: {found.num_rows:,} rows of {found.num_columns} columns")


@command.command("migrate", example="fred study migrate build/study")
@store_argument
@as_json_option
def migrate(store: Path, as_json: bool) -> None:
    """Migrate a store of an older schema version to the current version."""
    from studies.study.store import migrate as migrated

    before, after = migrated(store)
    if as_json:
        print_json({"store": store, "before": before, "after": after})
        return
    print(f"{store}: schema version {after}, {'as before' if before == after else f'was {before}'}")


def _load(file: Path) -> Any:
    """Return the study in a file, of training or of switches."""
    import_module("fred_cli.switch_study")  # registers its kind of study
    from studies.study.plan import load_study

    return load_study(file)


def _print_best(summary: Any, plan: Any) -> None:
    """Print the best point for each objective, the front, and speed-ups over the baseline."""
    for name, row in summary.best.items():
        said = f"{row[name]:.6g} with {_said(row, plan.varied)}" if row else "no point has it"
        print(f"least {name}: {said}")
    _print_rows("Pareto front", "front", summary.front)
    if plan.baseline:
        _print_rows(f"Speed-up over {plan.baseline.name}", "speedups", summary.speedups)


def _print_rows(title: str, name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print the first rows of a table of the store, if it has any."""
    if not rows:
        return
    columns = [name for name in rows[0] if name != "key"]
    shown = [[_cell(row.get(name)) for name in columns] for row in rows[:_SHOWN]]
    table(f"{title}: {len(rows):,} points", columns, shown)
    if len(rows) > _SHOWN:
        print(
            f"the first {_SHOWN} of {len(rows):,} points; the table {name!r} of the store has all"
        )


def _said(row: dict[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {_cell(row.get(name))}" for name in names)


@contextmanager
def _listener(as_json: bool) -> Generator[Callable[[Any], object]]:
    """Yield a progress listener: one that writes JSON, or a progress bar."""
    with _json_progress() if as_json else _bar() as listener:
        yield listener


@contextmanager
def _bar() -> Generator[Callable[[Any], object]]:
    with progress("estimating points"):
        yield lambda _: None


@contextmanager
def _json_progress() -> Generator[Callable[[Any], object]]:
    """Yield a listener that writes lines of JSON: the first progress, later ones, and the last.

    There is at least a second between two lines, except before the last one.
    """
    written = 0.0
    waiting: Any = None

    def write() -> None:
        nonlocal written, waiting
        print(json.dumps(plain(waiting)), file=sys.stderr, flush=True)
        written, waiting = time.monotonic(), None

    def listen(progress: Any) -> None:
        nonlocal waiting
        waiting = progress
        if time.monotonic() - written >= _EVERY_S:
            write()

    try:
        yield listen
    finally:
        if waiting:
            write()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
