"""Command `fred strategies`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.columns.parts import rare_columns
from fred_cli.columns.strategies import COLUMNS
from fred_cli.command import Command
from fred_cli.numbers import Integer
from fred_cli.options import (
    EQUAL_TERMS,
    TRAINING_OPTIONS,
    OutputPath,
    as_json_option,
    csv_option,
    equal_terms_options,
    memory_option,
    mode_option,
    npu_option,
    protocol_option,
    read_npu,
    request_options,
    topology_name,
    workload_option,
)
from fred_cli.output import need_plotly, option_names, print_above_peak, print_json, write_given
from fred_cli.progress import progress

__all__ = ["command"]


@click.command(
    "strategies",
    cls=Command,
    example="fred strategies --topology fred-d --workload transformer-17b",
)
@workload_option
@click.option(
    "--topology",
    "topologies",
    multiple=True,
    type=topology_name,
    help="Topology; by default mesh:5x4 and fred-d. Repeat for more.",
)
@request_options
@protocol_option
@npu_option
@equal_terms_options
@memory_option
@mode_option
@click.option(
    "--samples",
    type=Integer(),
    help="Samples per replica and iteration; by default those of the workload.",
)
@click.option(
    "--least-npus",
    type=Integer(),
    help="Least number of NPUs in use; by default 90 % of the wafer.",
)
@click.option(
    "--best",
    type=Integer(),
    metavar="N",
    help="Only the N fastest strategies of each topology that fit in memory. Lower bounds exclude "
    "the others without an estimate.",
)
@click.option(
    "--cp",
    multiple=True,
    type=Integer(),
    help="Context parallelism to try; 1 is none. Repeat for more.",
)
@click.option(
    "--ep",
    multiple=True,
    type=Integer(),
    help="Expert parallelism to try; 1 is none. Repeat for more.",
)
@click.option("--sp", is_flag=True, help="Also try sequence parallelism, where MP is 2 or more.")
@click.option(
    "--chart", type=OutputPath(), metavar="FILE.html", help="Draw stacked bars of all strategies."
)
@csv_option
@as_json_option
def command(
    workload: str,
    topologies: tuple[str, ...],
    protocol: Any,
    npu_changes: tuple[str, ...],
    npu_from: str | None,
    as_is: bool,
    memory: Path | None,
    mode: str | None,
    samples: int | None,
    least_npus: int | None,
    best: int | None,
    cp: tuple[int, ...],
    ep: tuple[int, ...],
    sp: bool,
    chart: Path | None,
    csv_file: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Estimate all (MP, DP, PP) of a workload; feasible ones first, ordered by time per sample."""
    from perfmodel.training.equal_terms import on_equal_terms
    from perfmodel.training.request import read_requests
    from perfmodel.training.strategies import fastest, feasible, sweep

    if chart:
        need_plotly()
    with option_names(*TRAINING_OPTIONS), progress("estimating strategies"):
        requests = read_requests(
            topologies or ("mesh:5x4", "fred-d"),
            [workload],
            protocol=protocol,
            npu=read_npu(npu_changes),
            memory=memory,
            # Each strategy gets its own number of microbatches.
            changes={"mode": mode, "samples": samples, "microbatches": samples and 1},
            **options,
        )
        requests = on_equal_terms(requests, npu_from, as_is=as_is, choices=EQUAL_TERMS)
        job, least = requests[0].workload, min(one.topology.npus for one in requests)
        fabrics = [one.topology for one in requests]
        choices = feasible(
            job, least, least_npus, cp=cp or (1,), ep=ep or (1,), sp=sp, fabrics=fabrics
        )
        rows = sweep(requests, choices) if best is None else fastest(requests, choices, best)
    write_given({csv_file: lambda: COLUMNS.csv(rows), chart: lambda: _chart(job.name, rows)})
    if as_json:
        print_json({"rows": [COLUMNS.json(row.estimate, row) for row in rows]})
        return
    COLUMNS.without(*rare_columns(row.estimate for row in rows)).print(
        f"Strategies of {job.name} [ms per sample], {job.samples_per_replica} samples per replica, "
        f"compute: {options['compute']}",
        rows,
    )
    if not all(row.fits for row in rows):
        print("* does not fit the memory, not even with activations recomputed")
    print_above_peak(row.estimate for row in rows)


def _chart(name: str, rows: Sequence[Any]) -> str:
    from fred_cli.drawings.chart import page
    from fred_cli.drawings.charts import strategy_chart

    return page(f"Strategies of {name}", strategy_chart(rows))
