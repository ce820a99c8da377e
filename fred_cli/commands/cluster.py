"""Command `fred cluster`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.columns.cluster import COLUMNS, variant_columns
from fred_cli.columns.reproduce import columns_of
from fred_cli.command import Command
from fred_cli.names import names_in
from fred_cli.numbers import Integer
from fred_cli.options import InputPath, NameOrFile, OutputPath, as_json_option, csv_option
from fred_cli.output import checked, need_plotly, plain, print_json, write_given
from fred_cli.progress import progress
from fred_hw.errors import InputError

__all__ = ["command"]


@click.command(
    "cluster", cls=Command, example="fred cluster examples/cluster.yaml --workload transformer-1t"
)
@click.argument("file", required=False, type=InputPath())
@click.option(
    "--workload",
    type=NameOrFile(names_in("clustermodel.api", "transformer_names")),
    help="A transformer: a built-in workload, or a file.",
)
@click.option(
    "--batch", type=Integer(), help="Samples per iteration; by default those of the file."
)
@click.option(
    "--published",
    is_flag=True,
    help="Compare measured memory and iterations with computed ones; takes no file.",
)
@click.option(
    "--chart", type=OutputPath(), metavar="FILE.html", help="Draw stacked bars of time and memory."
)
@csv_option
@as_json_option
def command(
    file: Path | None,
    workload: str | None,
    batch: int | None,
    published: bool,
    chart: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Find the fastest MP x DP x PP of a cluster that fits its memory; vary its resources."""
    if published:
        if file or workload or batch is not None or chart:
            raise InputError("--published", "", "must be given without a file and other options")
        _published(csv_file, as_json)
        return
    if file is None or workload is None:
        missing = "FILE" if file is None else "--workload"
        raise InputError("fred cluster", missing, "must be given without --published")
    _swept(file, workload, batch, chart, csv_file, as_json)


def _published(csv_file: Path | None, as_json: bool) -> None:
    from studies.a100 import published_rows

    columns, rows = columns_of(moved=False), tuple(published_rows())
    columns.write(rows, csv_file)
    if as_json:
        print_json({"rows": [columns.json(row, row) for row in rows]})
        return
    columns.print("Published figures of clusters of A100s, and ours", rows)
    print(f"{sum(row.ok for row in rows)} of {len(rows)} figures within tolerance")


def _swept(
    path: Path,
    workload: str,
    batch: int | None,
    chart: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    from clustermodel.api import best, design_space, load_cluster, load_transformer, sweep

    if chart:
        need_plotly()
    file, model = load_cluster(path), load_transformer(workload)
    if batch is not None:
        if not 1 <= batch <= 1 << 30:
            raise InputError("--batch", "", f"must be 1 to {1 << 30}, not {batch}")
        training = file.training.model_copy(update={"batch": batch})
        file = file.model_copy(update={"training": training})
    if bad := [one for one in file.training.groups if model.experts % one]:
        message = f"must be divisors of {model.experts}, the experts of {workload}, not {bad[0]}"
        raise InputError(str(path), "training.ep", message)
    source, field = ("--batch", "") if batch is not None else (str(path), "training.batch")
    with progress("sweeping a cluster"), checked(source, field):
        points = sweep(
            model, file.cluster, file.training.plan, file.training.stages, file.training.groups
        )
        fastest = best(points)
        variants = design_space(model, file, fastest)
    write_given(
        {
            csv_file: lambda: COLUMNS.csv(points),
            chart: lambda: _chart(workload, points, file.cluster),
        }
    )
    if as_json:
        rows = [{**COLUMNS.json(row, row), "time_s": row.time_s} for row in points]
        found = {"rows": rows, "best": plain(fastest), "variants": plain(variants)}
        print_json({"workload": workload, "npus": file.cluster.npus, **found})
        return
    shown = COLUMNS if model.experts > 1 else COLUMNS.without("ep [s]")
    shown.print(f"{workload} on {file.cluster.npus} NPUs [s]", points)
    if not all(one.fits for one in points):
        print("* does not fit the memory")
    _say_best(fastest)
    if variants:
        names = list(variants[0].values)
        variant_columns(names).print("With other resources [s], speed-up over the above", variants)


def _say_best(fastest: Any) -> None:
    free, held = fastest.unconstrained, fastest.feasible
    if held is None:
        print("no strategy fits the memory")
    else:
        print(f"best that fits: {held.strategy}, {held.time_s:.4g} s")
    needs = free.footprint.total_bytes / 1e9
    print(
        f"best if all fitted: {free.strategy}, {free.unconstrained.total_s:.4g} s, "
        f"with {needs:,.1f} GB on each NPU"
    )
    if held is not None:
        print(f"memory costs a factor of {held.time_s / free.unconstrained.total_s:.3f}")


def _chart(name: str, points: Sequence[Any], cluster: Any) -> str:
    from fred_cli.drawings.chart import page
    from fred_cli.drawings.cluster import cluster_chart

    return page(f"{name} on a cluster", cluster_chart(points, cluster))
