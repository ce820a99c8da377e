"""`fred report`."""

from pathlib import Path

import click

from fred_cli.options import OutputPath, as_json_option
from fred_cli.output import progress, say_json
from fred_hw.errors import InputError

__all__ = ["command"]


@click.command("report")
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=OutputPath(folder=True),
    help="Folder to write to.",
)
@click.option("--spec", "spec_source", default="demo-8", show_default=True, help="Switch to show.")
@click.option(
    "--results", type=Path, help="JSON of `fred sim --json`; co-simulated with Icarus if missing."
)
@as_json_option
def command(folder: Path, spec_source: str, results: Path | None, as_json: bool) -> None:
    """Write the HTML report: the switch, its co-simulation, and the wafer."""
    try:
        from fred_cli.report.page import build
    except ImportError as error:
        message = f"must be installed for the report: pip install 'fred-hw[report]' ({error})"
        raise InputError("plotly", "", message) from None

    with progress("writing the report"):
        paths = build(spec_source, folder, results)
    if as_json:
        say_json({"files": paths})
        return
    for path in paths:
        print(path)
