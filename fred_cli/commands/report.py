"""Command `fred report`."""

import shlex
import sys
from importlib import import_module
from pathlib import Path

import click

from fred_cli.command import Command
from fred_cli.names import option_value
from fred_cli.numbers import Integer
from fred_cli.options import (
    TRAINING_OPTIONS,
    InputPath,
    ListingOption,
    OutputPath,
    as_json_option,
    equal_terms_options,
    spec_name,
    topologies_listing,
    topology_name,
    workload_name,
    workloads_listing,
)
from fred_cli.output import option_names, print_json
from fred_cli.progress import progress
from fred_hw.optional import needed

__all__ = ["command"]


@click.command(
    "report",
    cls=Command,
    example="fred report --topology examples/fred-16.yaml --workload transformer-17b "
    "--strategy MP4-DP4-PP1 -o build/report",
)
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=OutputPath(folder=True),
    help="Folder to write to.",
)
@click.option(
    "--topology",
    "topologies",
    multiple=True,
    metavar="NAME|FILE",
    type=topology_name,
    cls=ListingOption,
    listing=lambda: f"Own wafer: {topologies_listing()} Repeat to compare; the first is the base.",
)
@click.option(
    "--workload",
    metavar="NAME|FILE",
    type=workload_name,
    cls=ListingOption,
    listing=lambda: f"Own model: {workloads_listing()}",
)
@click.option(
    "--strategy",
    help="Your strategy, like MP2-DP5-PP2 or TP2-DP5-PP2; by default that of the workload.",
)
@click.option(
    "--compute",
    metavar="MODEL",
    type=option_value("compute"),
    help="Compute model, as for `fred estimate`; by default calibrated where available.",
)
@equal_terms_options
@click.option(
    "--least-npus",
    type=Integer(),
    help="Least number of NPUs that a strategy uses; see docs/how-to/report.md.",
)
@click.option(
    "--spec",
    "spec_source",
    default="demo-8",
    show_default=True,
    type=spec_name,
    help="Switch to show.",
)
@click.option(
    "--results",
    type=InputPath(),
    help="JSON of `fred sim --json`; co-simulated with Icarus if missing.",
)
@click.option(
    "--evidence",
    is_flag=True,
    help="Add the evidence: every figure of the paper compared with the model, RTL compared "
    "with the model, and algorithms. Takes minutes.",
)
@as_json_option
def command(
    folder: Path,
    topologies: tuple[str, ...],
    workload: str | None,
    strategy: str | None,
    compute: str | None,
    npu_from: str | None,
    as_is: bool,
    least_npus: int | None,
    spec_source: str,
    results: Path | None,
    evidence: bool,
    as_json: bool,
) -> None:
    """Write the HTML report: which fabric wins, its price, and the wafer and switch behind it."""
    with needed("plotly", "the report", "fred-hw[report]"):
        import_module("plotly")
    with needed("jinja2", "the report", "fred-hw[report]"):
        from fred_cli.report.page import Made, build
        from fred_cli.report.study import Question

    question = Question(
        topologies, workload, strategy, compute, least_npus, npu_from=npu_from, as_is=as_is
    )
    made = Made.now(shlex.join(["fred", *sys.argv[1:]]))
    with option_names(*TRAINING_OPTIONS), progress("writing the report"):
        paths = build(spec_source, folder, results, question, made, evidence=evidence)
    if as_json:
        print_json({"files": paths})
        return
    for path in paths:
        print(path)
