"""Commands of training: estimate, compare, strategies, reproduce."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from fred_hw.errors import InputError

from .output import (
    as_json_option,
    option_names,
    plain,
    progress,
    say_json,
    table,
    write_csv,
    write_json,
    write_text,
)
from .wafer import protocol_option, say_provenance

__all__ = ["COMMANDS", "MOVED_COLUMNS", "PARTS", "reproduce_cells", "strategy_cells"]

PARTS = ("compute", "mp", "dp", "pp", "weight_streaming", "input_load")

_OPTIONS = (
    "topology",
    "workload",
    "strategy",
    "compute",
    "placement",
    "algorithm",
    "microbatches",
    "samples",
    "least-npus",
)

F = TypeVar("F", bound=Callable[..., Any])

compute_option = click.option(
    "--compute",
    default="first-principles",
    show_default=True,
    metavar="MODEL",
    help="first-principles, or calibrated on the published speed-up of FRED-C.",
)
placement_option = click.option(
    "--placement",
    default="auto",
    show_default=True,
    help="On a mesh: auto (best of all policies), anneal, linear, snake, columns, ...",
)
algorithm_option = click.option(
    "--algorithm", default="auto", show_default=True, help="Of all-reduces, see fred collective."
)
workload_option = click.option(
    "--workload", required=True, metavar="NAME|FILE", help="resnet-152, gpt-3, ..., or YAML."
)
mode_option = click.option(
    "--mode", type=click.Choice(["stationary", "streaming"]), help="Where the weights are."
)


@click.command()
@click.option("--topology", required=True, metavar="NAME|FILE", help="mesh:5x4, fred-d, or YAML.")
@workload_option
@click.option("--strategy", help="Like MP2-DP5-PP2; that of the workload by default.")
@compute_option
@placement_option
@algorithm_option
@protocol_option
@mode_option
@click.option("--schedule", type=click.Choice(["1f1b", "gpipe"]), help="Of the pipeline.")
@click.option(
    "--overlap/--no-overlap", default=None, help="Reduce gradients while others are computed."
)
@click.option("--microbatches", type=int, help="Pieces of a replica's samples.")
@click.option("--samples", type=int, help="Samples per replica and iteration.")
@click.option(
    "--timeline", type=Path, metavar="FILE.json", help="Write a timeline for ui.perfetto.dev."
)
@as_json_option
def estimate(
    topology: str,
    workload: str,
    strategy: str | None,
    compute: str,
    placement: str,
    algorithm: str,
    protocol: Any,
    timeline: Path | None,
    as_json: bool,
    **changes: Any,
) -> None:
    """Estimate one training iteration: where its time goes."""
    from perfmodel.topology.parse import parse_topology
    from perfmodel.training.estimate import simulate, summarize
    from perfmodel.training.trace import chrome_trace

    with option_names(*_OPTIONS):
        fabric = parse_topology(topology, protocol)
        job = _changed(workload, **changes)
        found = simulate(fabric, job, strategy, None, _model(compute), placement, algorithm)
        result = summarize(fabric, job, *found)
    if timeline:
        title = f"{result.workload}, {result.strategy}, on {result.topology}"
        write_json(chrome_trace(found[0], title), timeline)
    if as_json:
        say_json(result)
        return
    rows = [
        ("iteration", _milliseconds(result.iteration_time_s)),
        ("compute", _milliseconds(result.compute_s)),
        *(
            (f"exposed {name.replace('_', ' ')}", _milliseconds(seconds))
            for name, seconds in plain(result.exposed_s).items()
        ),
        ("per sample", _milliseconds(result.time_per_sample_s)),
        ("compute of the busiest NPU", _milliseconds(result.busy_s)),
        ("rate of compute", f"{result.peak_share:.3g} times the peak of the NPU"),
        (
            "memory",
            (
                f"{result.memory.total_bytes / 1e9:,.1f} GB, with recomputation "
                f"{result.memory.least_bytes / 1e9:,.1f} GB, of "
                f"{result.memory.available_bytes / 1e9:g} GB: {result.memory_verdict}"
            ),
        ),
        ("placement", result.placement),
    ]
    table(
        f"{result.workload}, {result.strategy}, {result.mode}, minibatch {result.minibatch}, "
        f"on {result.topology}; compute: {result.compute_model}",
        ("part", "time"),
        rows,
    )
    say_provenance(result.provenance)


@click.command()
@click.option("--topology", "topologies", multiple=True, help="Repeat; all five by default.")
@click.option("--workload", "workloads", multiple=True, help="Repeat; all four by default.")
@compute_option
@protocol_option
@click.option("--csv", "csv_file", type=Path, metavar="FILE", help="Write the table as CSV too.")
@as_json_option
def compare(
    topologies: tuple[str, ...],
    workloads: tuple[str, ...],
    compute: str,
    protocol: Any,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Estimate all workloads on all fabrics; speed-ups are over the first fabric."""
    from perfmodel.studies.compare import compare as run
    from perfmodel.topology.parse import FABRICS
    from perfmodel.workloads.workload import WORKLOADS

    with option_names(*_OPTIONS), progress("estimating workloads on fabrics"):
        rows = run(
            topologies or FABRICS,
            workloads or WORKLOADS,
            compute=_model(compute),
            protocol=protocol,
        )
    if csv_file:
        write_csv(
            ("workload", "strategy", "fabric", "speedup", *_SECONDS),
            [
                (e.workload, e.strategy, e.topology, row.speedup, *_seconds(e))
                for row in rows
                for e in (row.estimate,)
            ],
            csv_file,
        )
    if as_json:
        say_json({"rows": [{**plain(row.estimate), "speedup": row.speedup} for row in rows]})
        return
    table(
        f"Training iterations [ms], compute: {compute}",
        ("workload", "strategy", "fabric", "iteration", *PARTS, "speed-up"),
        [
            (
                row.estimate.workload,
                row.estimate.strategy,
                row.estimate.topology,
                *(f"{seconds * 1e3:,.3f}" for seconds in _seconds(row.estimate)),
                f"{row.speedup:.3f}",
            )
            for row in rows
        ],
    )
    _say_above_peak(row.estimate for row in rows)


@click.command()
@workload_option
@click.option(
    "--topology", "topologies", multiple=True, help="Repeat; mesh:5x4 and fred-d by default."
)
@compute_option
@placement_option
@algorithm_option
@protocol_option
@mode_option
@click.option("--samples", default=40, show_default=True, help="Per replica and iteration.")
@click.option("--least-npus", type=int, help="NPUs in use; 90 % of the wafer by default.")
@click.option("--chart", type=Path, metavar="FILE.html", help="Stacked bars of all strategies.")
@click.option("--csv", "csv_file", type=Path, metavar="FILE", help="Write the table as CSV too.")
@as_json_option
def strategies(
    workload: str,
    topologies: tuple[str, ...],
    compute: str,
    placement: str,
    algorithm: str,
    protocol: Any,
    mode: str | None,
    samples: int,
    least_npus: int | None,
    chart: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Estimate all (MP, DP, PP) of a workload, fastest per sample first."""
    from perfmodel.studies.strategies import feasible, sweep
    from perfmodel.topology.parse import parse_topology

    if samples < 1:
        raise InputError("--samples", "", f"must be 1 or more, not {samples}")
    if chart:
        _need_plotly()
    with option_names(*_OPTIONS), progress("estimating strategies"):
        names = topologies or ("mesh:5x4", "fred-d")
        fabrics = [parse_topology(name, protocol) for name in names]
        job = _changed(workload, mode=mode)
        choices = feasible(job, min(fabric.npus for fabric in fabrics), least_npus)
        rows = sweep(fabrics, job, choices, samples, _model(compute), placement, algorithm)
    columns = ("strategy", "fabric", "per sample [s]", *_SECONDS, "memory")
    cells = [strategy_cells(row) for row in rows]
    if csv_file:
        write_csv(columns, cells, csv_file)
    if chart:
        from .charts import page, strategy_chart

        write_text(page(f"Strategies of {job.name}", strategy_chart(rows)), chart)
    if as_json:
        say_json({"rows": [{**plain(row.estimate), "feasible": row.feasible} for row in rows]})
        return
    table(
        f"Strategies of {job.name} [ms per sample], {samples} samples per replica, "
        f"compute: {compute}",
        ("strategy", "fabric", "placement", "per sample", *PARTS, "memory"),
        [
            (
                e.strategy,
                e.topology,
                e.placement,
                *(f"{seconds * 1e3 / e.minibatch:,.3f}" for seconds in _seconds(e)),
                e.memory_verdict,
            )
            for e in (row.estimate for row in rows)
        ],
    )
    _say_above_peak(row.estimate for row in rows)


REPRODUCE_COLUMNS = (
    "id",
    "what",
    "published",
    "model",
    "ratio",
    "tolerance",
    "ok",
    "how",
    "source",
)
MOVED_COLUMNS = (*REPRODUCE_COLUMNS, "ideal", "moved_percent")


@click.command()
@click.option(
    "--section", "sections", multiple=True, help="bandwidth, wafer, speedups, sweeps; all if none."
)
@protocol_option
@click.option("--csv", "csv_file", type=Path, metavar="FILE", help="Write the table as CSV too.")
@as_json_option
def reproduce(
    sections: tuple[str, ...], protocol: Any, csv_file: Path | None, as_json: bool
) -> None:
    """Put every published figure beside ours, and say how far the protocol moved it."""
    from perfmodel.studies.reproduce import SECTIONS, reproduce_both
    from perfmodel.studies.reproduce import reproduce as run

    for name in sections:
        if name not in SECTIONS:
            allowed = ", ".join(SECTIONS)
            raise InputError("--section", "", f"must be one of {allowed}, not {name!r}")
    moved = protocol != "ideal"
    with progress("reproducing published figures"):
        rows = reproduce_both(sections or None) if moved else tuple(run(sections or None, "ideal"))
    columns = MOVED_COLUMNS if moved else REPRODUCE_COLUMNS
    if csv_file:
        write_csv(columns, [reproduce_cells(row, columns) for row in rows], csv_file)
    good = sum(row.ok for row in rows)
    if as_json:
        say_json({"rows": rows, "within_tolerance": good, "rows_in_all": len(rows)})
        return
    table(
        f"Published figures and ours, protocol {protocol or 'measured'}",
        (
            *("figure", "published", "ours", "ratio", "within", "verdict"),
            *(("ideal", "moved %") if moved else ()),
            *("how", "source"),
        ),
        [
            (
                row.what,
                _figure(row.published),
                _figure(row.model),
                "" if row.ratio is None else f"{row.ratio:.3f}",
                "same" if row.tolerance is None else f"{row.tolerance:.3g}",
                "ok" if row.ok else "MISS",
                *(_moved(row) if moved else ()),
                row.how,
                row.source,
            )
            for row in rows
        ],
    )
    print(f"{good} of {len(rows)} within tolerance; docs/fidelity.md explains the others")


def reproduce_cells(row: Any, columns: Sequence[str] = MOVED_COLUMNS) -> tuple[object, ...]:
    """Return a row of the table as cells, in the order of ``columns``."""
    return tuple(getattr(row, name) for name in columns)


def _moved(row: Any) -> tuple[str, str]:
    """Return the ideal figure, and how far the protocol moved ours from there [%]."""
    moved = "" if row.moved_percent is None else f"{row.moved_percent:+z.2f}"  # z: no -0.00
    return _figure(row.ideal), moved


def strategy_cells(row: Any) -> tuple[object, ...]:
    """Return a strategy as cells: names, time per sample, times of the iteration, memory [s]."""
    e = row.estimate
    return (e.strategy, e.topology, e.time_per_sample_s, *_seconds(e), e.memory_verdict)


_SECONDS = ("iteration [s]", *(f"{part} [s]" for part in PARTS))


def _seconds(e: Any) -> tuple[float, ...]:
    """Return the time of an iteration and its parts [s]."""
    return (e.iteration_time_s, e.compute_s, *plain(e.exposed_s).values())


def _say_above_peak(estimates: Iterable[Any]) -> None:
    """Say which workloads compute faster than any such NPU can, as calibrated ones do."""
    shares: dict[str, float] = {}
    for e in estimates:
        shares[e.workload] = max(e.peak_share, shares.get(e.workload, 1.0))
    above = ", ".join(f"{name} {share:.3g}" for name, share in shares.items() if share > 1)
    if above:
        print(f"compute above the peak of the NPU, times: {above}")


def _figure(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.4g}"


def _model(compute: str) -> Any:
    from perfmodel.training.estimate import COMPUTE_MODELS

    if compute not in COMPUTE_MODELS:
        allowed = ", ".join(COMPUTE_MODELS)
        raise InputError("--compute", "", f"must be one of {allowed}, not {compute!r}")
    return compute


def _changed(
    name: str, *, samples: int | None = None, microbatches: int | None = None, **changes: Any
) -> Any:
    """Return a workload with what the options change."""
    from perfmodel.training.estimate import with_batch
    from perfmodel.workloads.workload import load_workload

    workload = load_workload(name)
    for option, value in (("samples", samples), ("microbatches", microbatches)):
        if value is not None and value < 1:
            raise InputError(f"--{option}", "", f"must be 1 or more, not {value}")
    workload = with_batch(
        workload,
        samples or workload.samples_per_replica,
        microbatches or workload.microbatches,
    )
    return replace(workload, **{key: value for key, value in changes.items() if value is not None})


def _need_plotly() -> None:
    try:
        import plotly  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        message = f"must be installed for charts: pip install 'fred-hw[report]' ({error})"
        raise InputError("plotly", "", message) from None


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.3f} ms"


COMMANDS = (estimate, compare, strategies, reproduce)
