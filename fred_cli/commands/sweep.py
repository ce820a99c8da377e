"""Command `fred sweep`."""

from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from fred_cli.columns.sweep import COLUMNS, shown, title
from fred_cli.columns.trace_sweep import COLUMNS as TRACE_COLUMNS
from fred_cli.command import Command
from fred_cli.options import InputPath, OutputPath, as_json_option, csv_option
from fred_cli.output import say_above_peak, say_json, write_given
from fred_cli.progress import progress
from fred_hw.optional import needed
from fred_hw.reading import read_data

__all__ = ["command"]


@click.command("sweep", cls=Command, example="fred sweep examples/sweep.yaml --csv build/sweep.csv")
@click.argument("file", type=InputPath())
@csv_option
@click.option(
    "--parquet", type=OutputPath(), metavar="FILE", help="Write all figures as Parquet too."
)
@as_json_option
def command(file: Path, csv_file: Path | None, parquet: Path | None, as_json: bool) -> None:
    """Estimate all points of a sweep: every combination of topologies, workloads and options.

    A FILE with traces runs them on each of its networks.
    """
    from perfmodel.studies.sweep import run_sweep
    from perfmodel.studies.sweep_points import load_sweep

    if parquet:
        with needed("pyarrow", "Parquet", "fred-hw[tables]"):
            for module in ("pandas", "pyarrow"):
                import_module(module)
    data = read_data(file)
    if isinstance(data, dict) and "traces" in data:
        _traces(file, csv_file, parquet, as_json)
        return
    with progress("estimating points"):
        sweep = load_sweep(file)
        rows = run_sweep(sweep)
    write_given({csv_file: lambda: COLUMNS.csv(rows), parquet: lambda: _parquet(rows)})
    if as_json:
        say_json({"baseline": sweep.baseline, "rows": rows})
        return
    ran = [row for row in rows if row.estimate]
    shown(ran).print(f"Sweep [ms], speed-up over {sweep.baseline}; {title(ran)}", ran)
    for problem, points in Counter(row.problem for row in rows if row.problem).items():
        print(f"cannot run, {points} of {len(rows)} points: {problem}")
    say_above_peak(row.estimate for row in ran)


def _traces(file: Path, csv_file: Path | None, parquet: Path | None, as_json: bool) -> None:
    """Run the traces of a sweep."""
    from perfmodel.studies.trace_sweep import load_trace_sweep, run_traces

    with progress("running traces"):
        sweep = load_trace_sweep(file)
        rows = run_traces(sweep)
    write_given({csv_file: lambda: TRACE_COLUMNS.csv(rows), parquet: lambda: _parquet(rows)})
    if as_json:
        say_json({"baseline": sweep.baseline, "rows": rows})
        return
    ran = [row for row in rows if row.last]
    title = f"Traces [ns], of the rank that ends last; speed-up over {sweep.baseline}"
    TRACE_COLUMNS.print(title, ran)
    for problem, runs in Counter(row.problem for row in rows if row.problem).items():
        print(f"cannot run, {runs} of {len(rows)} runs: {problem}")


def _parquet(rows: Sequence[Any]) -> bytes:
    from perfmodel.api import to_dataframe

    return to_dataframe(rows).to_parquet()
