"""Commands of the wafer: collective, estimate, compare, report."""

import re
from pathlib import Path
from typing import Any

import click

from fred_hw.errors import InputError

from .output import as_json_option, check_folder, plain, progress, say_json, table

__all__ = ["COMMANDS", "parse_group", "parse_size"]

_UNITS = {
    "": 1,
    **{f"{prefix}B": 1000**n for n, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB": 1024 ** (n + 1) for n, prefix in enumerate(("K", "M", "G", "T"))},
}

topology_option = click.option(
    "--topology", required=True, metavar="NAME|FILE", help="mesh:5x4, fred-a to fred-d, or YAML."
)


def parse_size(text: str) -> float:
    """Return the bytes that text like ``1GiB`` or ``64MB`` means.

    Raises
    ------
    InputError
        The number or the unit is not understood.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-zA-Z]*)\s*", text)
    units = {unit.lower(): factor for unit, factor in _UNITS.items()}
    if found is None or found[2].lower() not in units:
        known = ", ".join(unit for unit in _UNITS if unit)
        raise InputError("--size", "", f"must be a number with one of {known}, not {text!r}")
    return float(found[1]) * units[found[2].lower()]


def parse_group(text: str | None) -> list[int] | None:
    """Return the NPUs that text like ``0,1,4-7`` means.

    Raises
    ------
    InputError
        It is not of that form.
    """
    if text is None:
        return None
    members: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if found is None or (found[2] and not 0 <= int(found[2]) - int(found[1]) <= 1_000_000):
            raise InputError("--group", "", f"must be NPU numbers like 0,1,4-7, not {text!r}")
        first = int(found[1])
        members += range(first, int(found[2] or first) + 1)
    return members


@click.command()
@topology_option
@click.option("--pattern", default="all_reduce", show_default=True, help="Collective pattern.")
@click.option("--size", default="1GiB", show_default=True, help="Vector, like 64MB or 1GiB.")
@click.option("--group", metavar="LIST", help="NPUs that take part, like 0,1,4-7; all by default.")
@click.option("--chunks", type=int, help="Pieces that the vector is cut into.")
@as_json_option
def collective(
    topology: str, pattern: str, size: str, group: str | None, chunks: int | None, as_json: bool
) -> None:
    """Simulate one collective, message by message, on the links of a wafer."""
    from perfmodel.collectives.run import run_collective
    from perfmodel.topology.parse import parse_topology

    result = run_collective(
        parse_topology(topology), pattern, parse_size(size), parse_group(group), chunks
    )
    if as_json:
        say_json(
            {
                **plain(result),
                "npu_bandwidth": result.npu_bandwidth_bytes_per_s,
                "bottleneck": plain(result.bottleneck),
            }
        )
        return
    rows = [
        ("time", f"{result.time_s * 1e6:,.2f} us"),
        ("effective NPU bandwidth", f"{result.npu_bandwidth_bytes_per_s / 1e12:.3f} TB/s"),
        ("sent per NPU", f"{result.bytes_per_npu / 2**20:,.1f} MiB"),
        ("busiest link", f"{result.bottleneck.link}, {result.bottleneck.utilisation:.1%} busy"),
        ("algorithm", result.algorithm),
        ("chunks", result.chunks),
    ]
    table(f"{result.pattern} of {size} on {result.topology}", ("what", "value"), rows)
    _say_provenance(result.provenance)


@click.command()
@topology_option
@click.option("--workload", required=True, metavar="NAME|FILE", help="A workload, see compare.")
@click.option("--strategy", help="Like MP2-DP5-PP2; that of the workload by default.")
@click.option(
    "--compute",
    type=click.Choice(["first-principles"]),
    default="first-principles",
    show_default=True,
    help="How compute time is found.",
)
@as_json_option
def estimate(
    topology: str, workload: str, strategy: str | None, compute: str, as_json: bool
) -> None:
    """Estimate one training iteration: roofline compute, then the gradient all-reduce."""
    from perfmodel.estimate import estimate as run
    from perfmodel.topology.parse import parse_topology
    from perfmodel.workload import load_workload

    result = run(parse_topology(topology), load_workload(workload), strategy)
    if as_json:
        say_json({**plain(result), "compute_model": compute})
        return
    rows = [
        ("iteration", f"{result.iteration_time_s * 1e3:,.3f} ms"),
        ("compute", f"{result.compute_s * 1e3:,.3f} ms"),
        *(
            (f"exposed {name.replace('_', ' ')}", _milliseconds(seconds))
            for name, seconds in plain(result.exposed_s).items()
        ),
    ]
    table(
        f"{result.workload}, {result.strategy}, minibatch {result.minibatch}, on {result.topology}",
        ("part", "time"),
        rows,
    )
    _say_provenance(result.provenance)


@click.command()
@as_json_option
def compare(as_json: bool) -> None:
    """Estimate all four workloads on all five fabrics."""
    from perfmodel.compare import compare as run

    with progress("estimating all workloads on all fabrics"):
        rows = run()
    if as_json:
        say_json({"rows": rows})
        return
    table(
        "Training iteration as far as it is modelled: compute and exposed gradient all-reduce",
        ("workload", "strategy", "fabric", "iteration", "compute", "exposed DP", "speed-up"),
        [
            (
                row.workload,
                row.strategy,
                row.topology,
                f"{row.iteration_time_s * 1e3:,.3f} ms",
                f"{row.compute_s * 1e3:,.3f} ms",
                _milliseconds(row.exposed_s.dp),
                f"{row.speedup:.3f}",
            )
            for row in rows
        ],
    )
    print("not modelled yet: " + "; ".join(rows[0].not_modelled))


@click.command()
@click.option("-o", "--output", "folder", required=True, type=Path, help="Folder to write to.")
@click.option("--spec", "spec_source", default="demo-8", show_default=True, help="Switch to show.")
@click.option(
    "--results", type=Path, help="JSON of `fred sim --json`; co-simulated with Icarus if missing."
)
@as_json_option
def report(folder: Path, spec_source: str, results: Path | None, as_json: bool) -> None:
    """Write the HTML report: the switch, its co-simulation, and the wafer."""
    try:
        from fred_cli.report import build
    except ImportError as error:
        message = f"must be installed for the report: pip install 'fred-hw[report]' ({error})"
        raise InputError("plotly", "", message) from None

    check_folder(folder)
    with progress("writing the report"):
        paths = build(spec_source, folder, results)
    if as_json:
        say_json({"files": paths})
        return
    for path in paths:
        print(path)


def _milliseconds(seconds: float | None) -> str:
    return "not modelled" if seconds is None else f"{seconds * 1e3:,.3f} ms"


def _say_provenance(provenance: Any) -> None:
    """Print where the figures come from."""
    for use in provenance.records:
        print(
            f"  {use.switches}: {use.latency_cycles} cycles ({use.latency_s * 1e9:.1f} ns), "
            f"record {use.record}, {use.measured_by}"
        )
    for assumption in provenance.assumptions:
        print(f"  assumed: {assumption}")


COMMANDS = (collective, estimate, compare, report)
