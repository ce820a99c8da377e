"""Command `fred power`."""

from pathlib import Path
from typing import Any

import click

from fred_cli.cell_options import effort_option, liberty_option, read_cells, sizing_option
from fred_cli.columns.column import figure
from fred_cli.command import Command
from fred_cli.cosimulation import load_testbench, simulating
from fred_cli.numbers import IntegerFrom
from fred_cli.options import (
    OutputPath,
    as_json_option,
    level_option,
    read_spec,
    seed_option,
    set_option,
    spec_argument,
)
from fred_cli.output import print_json, table
from fred_cli.progress import steps
from fred_cli.values import parse_clock
from fred_hw.errors import InputError

__all__ = ["command"]

_UNITS = 8


def _levels() -> tuple[str, ...]:
    from fred_cli.power_report import POWER_LEVELS

    return POWER_LEVELS


@click.command("power", cls=Command, example="fred power small-4 --liberty nangate45 --effort area")
@spec_argument
@set_option
@level_option(_levels)
@liberty_option(required=True)
@click.option(
    "--clock",
    help="Clock period or frequency of the activity, such as 0.853ns or 1.2GHz.",
    metavar="TIME",
)
@effort_option
@sizing_option
@click.option(
    "--cycles",
    type=IntegerFrom(16, 1 << 16),
    default=400,
    show_default=True,
    help="Clock cycles of each workload in which activity is counted.",
)
@seed_option
@click.option(
    "-o", "--output", "folder", type=OutputPath(folder=True), help="Folder for logs and recordings."
)
@click.option(
    "--mesh",
    "with_mesh",
    is_flag=True,
    help="With --level switch: also compute the power of a mesh with an NPU for each port, the "
    "same lanes and the same protocol. Compare the energy of a flit and of a reduced byte.",
)
@as_json_option
def command(
    spec_source: str,
    changes: tuple[str, ...],
    level: str,
    liberty: tuple[Path, ...],
    clock: str | None,
    effort: str,
    sizing: bool,
    cycles: int,
    seed: int,
    folder: Path | None,
    with_mesh: bool,
    as_json: bool,
) -> None:
    """Map SPEC to a cell library, and compute its power under workloads that are co-simulated.

    Needs fred-hw[synth], fred-hw[sim] and Icarus Verilog; for a mesh, a C++ compiler instead.
    """
    from gen.clock import CLOCK_NS
    from gen.level import LEVELS
    from gen.write import check_folder

    target_ns = None if clock is None else parse_clock(clock)
    libraries = read_cells(liberty)
    load_testbench("icarus")
    what = LEVELS[level]
    spec = read_spec(spec_source, changes, what.load, what.model.file_kind)
    what.check(spec, spec_source)
    if getattr(spec, "only", None) is not None:
        message = "must be left out, as the workloads use other configurations"
        raise InputError(spec_source, "only", message)
    if with_mesh and level != "switch":
        raise InputError("--mesh", "", f"must be given with --level switch, not {level}")
    work = folder or Path("build") / "power" / what.name(spec)
    check_folder(work)
    from fred_cli.power_report import compared, mesh_beside, power_report
    from synth.synthesis import from_spec, synthesize

    clock_ns = target_ns or getattr(spec, "clock_ns", None) or CLOCK_NS

    def report_of(spec: Any, level: str, work: Path) -> dict[str, Any]:
        with steps(f"power of {spec.name}") as step, simulating():
            source = from_spec(spec, level, spec_source)
            options: dict[str, Any] = {"effort": effort, "sizing": sizing, "progress": step}
            found = synthesize(source, libraries, clock_ns=clock_ns, **options)
            return power_report(
                spec, level, source, found, work, cycles=cycles, seed=seed, progress=step
            )

    report = report_of(spec, level, work)
    if with_mesh:
        report["mesh"] = report_of(mesh_beside(spec), "mesh", work / "mesh")
        report["comparison"] = compared(report, report["mesh"])
    if as_json:
        print_json(report)
        return
    _print(report)
    if with_mesh:
        _print(report["mesh"])
        _print_comparison(report)


def _print_comparison(report: dict[str, Any]) -> None:
    """Print the figures of a switch and of a mesh side by side."""
    rows = [
        (
            one["figure"],
            one["unit"],
            *("-" if one[key] is None else figure(one[key]) for key in ("switch", "mesh", "ratio")),
        )
        for one in report["comparison"]
    ]
    title = f"{report['name']} and {report['mesh']['name']}, which has as many NPUs"
    table(title, ("figure", "unit", "switch", "mesh", "switch / mesh"), rows)
    print(
        "Links, buffers and routing are included. Memories, endpoints, wires and clock tree are "
        "not.\nThe adders of the switch are included. The NPUs of a mesh add; their adders are not."
    )


def _print(report: dict[str, Any]) -> None:
    """Print the report as text."""
    print(
        f"{report['name']}: power at {report['clock_ns']:.4g} ns and {report['volts']:g} V; "
        f"shortest clock {report['shortest_clock_ns']:.4g} ns, effort {report['effort']}"
    )
    memories = f"{report['memory_bits']:,} bits of memories"
    print(f"not included: glitches, clock tree, {memories}")
    wires = report["wire_load"]
    print(f"wires: wire-load model {wires}, not in the total" if wires else "wires: no model")
    for one in report["workloads"]:
        rows = [_row(part["name"], part) for part in one["classes"]]
        rows.append(_row("total", one["total"]))
        columns = ("class", "internal mW", "nets mW", "leakage mW", "total mW", "wires mW")
        table(f"{one['workload']}: {one['flits']:,} flits in {one['cycles']} cycles", columns, rows)
    last = report["workloads"][-1]
    rows = [_row(unit["module"], unit) for unit in last["units"][:_UNITS]]
    columns = ("module", "internal mW", "nets mW", "leakage mW", "total mW", "wires mW")
    table(f"{last['workload']}, by module without its submodules", columns, rows)
    names = list(last["energy"])
    rows = [
        (name.removesuffix("_pj").replace("_", " "), *map(_pj, values))
        for name, values in ((n, [w["energy"][n] for w in report["workloads"]]) for n in names)
    ]
    table("energy [pJ]", ("per", *(one["workload"] for one in report["workloads"])), rows)
    if wafer := report["wafer"]:
        print(
            f"wafer: {wafer['estimate_w']:,.1f} W for {wafer['ports']} ports of "
            f"{wafer['port_bytes_per_s'] / 1e9:g} GB/s by the energy of a bit of payload; "
            f"published {wafer['published_w']} W, with I/O and in another technology"
        )


def _row(name: str, part: dict[str, float]) -> tuple[str, ...]:
    names = ("internal_w", "switching_w", "leakage_w", "total_w", "wires_w")
    return name, *(f"{1e3 * part[key]:.3f}" for key in names)


def _pj(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
