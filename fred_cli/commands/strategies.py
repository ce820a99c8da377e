"""`fred strategies`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.columns.parts import rare_columns
from fred_cli.columns.strategies import COLUMNS
from fred_cli.options import (
    TRAINING_OPTIONS,
    OutputPath,
    algorithm_option,
    as_json_option,
    compute_option,
    csv_option,
    memory_option,
    mode_option,
    npu_option,
    placement_option,
    protocol_option,
    read_npu,
    topology_name,
    workload_option,
)
from fred_cli.output import need_plotly, option_names, say_above_peak, say_json, write_given
from fred_cli.progress import progress
from fred_cli.values import changed_workload
from fred_hw.errors import InputError

__all__ = ["command"]


@click.command("strategies")
@workload_option
@click.option(
    "--topology",
    "topologies",
    multiple=True,
    type=topology_name,
    help="Repeat; mesh:5x4 and fred-d by default.",
)
@compute_option()
@placement_option
@algorithm_option
@protocol_option
@npu_option
@memory_option
@mode_option
@click.option("--samples", default=40, show_default=True, help="Per replica and iteration.")
@click.option("--least-npus", type=int, help="NPUs in use; 90 % of the wafer by default.")
@click.option("--cp", multiple=True, type=int, help="Context parallelism too; repeat; 1 without.")
@click.option("--ep", multiple=True, type=int, help="Expert groups too; repeat; 1 without.")
@click.option("--sp", is_flag=True, help="Sequence parallelism too, where MP is 2 or more.")
@click.option(
    "--chart", type=OutputPath(), metavar="FILE.html", help="Stacked bars of all strategies."
)
@csv_option
@as_json_option
def command(
    workload: str,
    topologies: tuple[str, ...],
    compute: str,
    placement: str,
    algorithm: str,
    protocol: Any,
    npu_changes: tuple[str, ...],
    memory: Path | None,
    mode: str | None,
    samples: int,
    least_npus: int | None,
    cp: tuple[int, ...],
    ep: tuple[int, ...],
    sp: bool,
    chart: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Estimate all (MP, DP, PP) of a workload, the fastest per sample that fit first."""
    from perfmodel.memory.file import load_tier
    from perfmodel.studies.strategies import MAX_SHARES, feasible, sweep
    from perfmodel.topology.parse import shared_topology
    from perfmodel.workloads.file import MAX_SAMPLES

    if not 1 <= samples <= MAX_SAMPLES:
        raise InputError("--samples", "", f"must be 1 to {MAX_SAMPLES}, not {samples}")
    for name, values in (("--cp", cp), ("--ep", ep)):
        if bad := [one for one in values if not 1 <= one <= MAX_SHARES]:
            raise InputError(name, "", f"must be 1 to {MAX_SHARES}, not {bad[0]}")
    if chart:
        need_plotly()
    with option_names(*TRAINING_OPTIONS), progress("estimating strategies"):
        names = topologies or ("mesh:5x4", "fred-d")
        npu = read_npu(npu_changes)
        fabrics = [shared_topology(name, protocol).with_npu(npu) for name in names]
        job = changed_workload(workload, mode=mode)
        tier = load_tier(memory, max(fabric.npus for fabric in fabrics)) if memory else None
        least = min(fabric.npus for fabric in fabrics)
        more = {"cp": cp or (1,), "ep": ep or (1,), "sp": (False, True) if sp else (False,)}
        choices = feasible(job, least, least_npus, **more)
        if not choices:
            given = [f"--cp {one}" for one in cp] + [f"--ep {one}" for one in ep]
            message = f"must leave a strategy that goes with {job.name}"
            raise InputError(" ".join(given) or "--least-npus", "", message)
        rows = sweep(fabrics, job, choices, samples, compute, placement, algorithm, tier)
    write_given({csv_file: lambda: COLUMNS.csv(rows), chart: lambda: _chart(job.name, rows)})
    if as_json:
        say_json({"rows": [COLUMNS.json(row.estimate, row) for row in rows]})
        return
    COLUMNS.without(*rare_columns(row.estimate for row in rows)).print(
        f"Strategies of {job.name} [ms per sample], {samples} samples per replica, "
        f"compute: {compute}",
        rows,
    )
    if not all(row.fits for row in rows):
        print("* does not fit the memory, not even with activations recomputed")
    say_above_peak(row.estimate for row in rows)


def _chart(name: str, rows: Sequence[Any]) -> str:
    from fred_cli.drawings.chart import page
    from fred_cli.drawings.charts import strategy_chart

    return page(f"Strategies of {name}", strategy_chart(rows))
