"""Command `fred synth`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from fred_cli.cell_options import effort_option, liberty_option, read_cells, sizing_option
from fred_cli.command import Command
from fred_cli.names import names_in
from fred_cli.options import (
    InputPath,
    NameChoice,
    OutputPath,
    as_json_option,
    level_option,
    only_option,
    read_pruned,
    refuse_given,
    set_option,
    spec_name,
)
from fred_cli.output import plain, print_json, table
from fred_cli.progress import steps
from fred_cli.values import parse_clock
from fred_hw.errors import InputError

__all__ = ["command"]


_UNITS = 12
_ENDINGS = ("_mapped.v", "_synth.json")


def _not_verilog(_context: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None and Path(value).suffix in (".v", ".sv"):
        message = "must be a specification; give Verilog by --verilog and --top"
        raise InputError(value, "", f"{message}, not as SPEC")
    return value


@click.command("synth", cls=Command, example="fred synth small-4 --liberty nangate45")
@click.argument(
    "spec_source", metavar="[SPEC]", required=False, type=spec_name, callback=_not_verilog
)
@set_option
@level_option(names_in("gen.level", "unit_levels"))
@click.option(
    "--verilog",
    type=InputPath(),
    metavar="FILE",
    help="Map this Verilog file instead of SPEC; requires --top.",
)
@click.option("--top", metavar="NAME", help="Top module of --verilog.")
@liberty_option()
@click.option(
    "--fpga",
    type=NameChoice(names_in("synth.fpga", "FAMILIES")),
    help="Map to the cells of these FPGAs in place of a library.",
)
@click.option(
    "--route",
    is_flag=True,
    help="With --fpga ecp5, place and route too: utilization and highest clock.",
)
@click.option(
    "--clock",
    help="Requested clock period or frequency, such as 0.853ns or 1.2GHz.",
    metavar="TIME",
)
@effort_option
@sizing_option
@click.option(
    "-o",
    "--output",
    "folder",
    type=OutputPath(folder=True),
    help="Folder for the mapped design and the report.",
)
@only_option
@as_json_option
def command(
    spec_source: str | None,
    changes: tuple[str, ...],
    level: str,
    verilog: Path | None,
    top: str | None,
    liberty: tuple[Path, ...],
    fpga: str | None,
    route: bool,
    clock: str | None,
    effort: str,
    sizing: bool,
    folder: Path | None,
    needs: Path | None,
    as_json: bool,
) -> None:
    """Map SPEC, or any Verilog, to a cell library or an FPGA: area, shortest clock, resources.

    With --liberty, the full interconnect of a pruned SPEC is mapped as well, for the area that
    pruning saves. Needs the extra fred-hw[synth]. OpenSTA computes the timing if its command sta is
    installed; otherwise the timing is the estimate of Yosys. --route needs the extra fred-hw[fpga].
    """
    _check_input(spec_source, verilog, top)
    target_ns = None if clock is None else parse_clock(clock)
    _check_target(liberty, fpga, route)
    libraries = read_cells(liberty) if liberty else None
    from gen.clock import CLOCK_NS
    from synth import fpga as fpgas
    from synth.synthesis import from_spec, from_verilog, synthesize

    spec = None
    if spec_source is not None:
        spec = read_pruned(spec_source, changes, needs, level)
    target_ns = target_ns or getattr(spec, "clock_ns", None)
    endings = (f"_{fpga}.json", f"_{fpga}_synth.json") if fpga else _ENDINGS
    if folder is not None:
        _check(
            str(top) if spec is None else _checked_name(spec, level, spec_source), endings, folder
        )
    with steps(f"synthesizing {spec.name if spec else top}") as step:
        if spec is not None:
            source = from_spec(spec, level, str(spec_source))
        else:
            assert verilog is not None and top is not None
            source = from_verilog(verilog, top)
        if libraries is None:
            route_ns = target_ns or fpgas.CLOCK_NS if route else None
            found = fpgas.map_fpga(source, str(fpga), route_ns=route_ns, progress=step)
            text, report = found.netlist, plain(found.to_dict())
        else:
            clock_ns = target_ns or CLOCK_NS
            efforts: dict[str, Any] = {"effort": effort, "sizing": sizing, "progress": step}
            mapped = partial(synthesize, libraries=libraries, clock_ns=clock_ns, **efforts)
            result = mapped(source)
            text, report = result.verilog, plain(result.to_dict())
            if spec is not None and getattr(spec, "only", None) is not None:
                full = from_spec(spec.with_changes(only=None), level, str(spec_source))
                report["full_area_um2"] = mapped(full).area.area_um2
    paths = [] if folder is None else _write(text, report, endings, folder)
    _report(report, paths, as_json)


def _checked_name(spec: Any, level: str, source: str | None) -> str:
    """Return the name of the design; raises an InputError if the level has none of it."""
    from gen.level import LEVELS

    LEVELS[level].check(spec, str(source))
    return LEVELS[level].name(spec)


def _report(report: dict[str, Any], paths: Sequence[Path], as_json: bool) -> None:
    """Print the report, and the files that were written."""
    if as_json:
        print_json({**report, "files": [str(path) for path in paths]})
        return
    (_print_fpga if "family" in report else _print)(report)
    if whole := report.get("full_area_um2"):
        saved = 1 - report["area_um2"] / whole
        print(f"pruned: {saved:.1%} less area than the full interconnect of {whole:,.1f} um2")
    for path in paths:
        print(f"  {path}")


def _check_input(spec_source: str | None, verilog: Path | None, top: str | None) -> None:
    """Fail unless there is one design."""
    if spec_source is None and verilog is None:
        raise InputError("synth", "SPEC", "must be given, or --verilog and --top in its place")
    if spec_source is not None:
        refuse_given("verilog", message="must be left out with SPEC")
    if (verilog is None) != (top is None):
        raise InputError("synth", "--top", "must be given with --verilog, and only with it")
    if verilog is not None:
        refuse_given("level", "changes", "needs", message="must be given only with SPEC")


def _check_target(liberty: Sequence[Path], fpga: str | None, route: bool) -> None:
    """Fail unless there is one technology, and options fit it."""
    if fpga is None:
        if not liberty:
            raise InputError("synth", "--liberty", "must be given, or --fpga in its place")
        refuse_given("route", message="must be given only with --fpga")
        return
    from synth.fpga import ROUTED, find_nextpnr
    from synth.mapping import find_yosys

    refuse_given("liberty", message="must be left out with --fpga")
    refuse_given("effort", "sizing", message="must be given only with --liberty")
    if route and fpga != ROUTED:
        raise InputError("synth", "--route", f"must be given only with --fpga {ROUTED}, not {fpga}")
    if not route:
        refuse_given("clock", message="must be given with --fpga only together with --route")
    find_yosys()
    if route:
        find_nextpnr()


def _check(name: str | None, endings: Sequence[str], folder: Path) -> None:
    """Fail if the output files cannot be written to the folder."""
    from gen.write import check_files

    check_files(folder / f"{name}{ending}" for ending in endings)


def _write(mapped: str, report: dict[str, Any], endings: Sequence[str], folder: Path) -> list[Path]:
    """Write the mapped design and the report."""
    import json

    from gen.write import write_files

    texts = (mapped, json.dumps(report, indent=1) + "\n")
    names = [f"{report['name']}{ending}" for ending in endings]
    return write_files(dict(zip(names, texts, strict=True)), folder)


def _print_fpga(report: dict[str, Any]) -> None:
    """Print the report of an FPGA as text."""
    bits = report["memory_bits"]
    where = ", ".join(f"{count:,} in {place}" for place, count in bits.items())
    print(f"{report['name']}: {report['family']}, {sum(bits.values()):,} bits of memories: {where}")
    rows = [(name, f"{count:,}") for name, count in report["resources"].items()]
    table("cells", ("resource", "cells"), rows)
    if memories := report["memories"]:
        rows = [
            (
                one["name"],
                one["count"],
                f"{one['words']:,}",
                one["width"],
                "at clock edges" if one["clocked"] else "at any time",
                one["place"],
                sum(one["cells"].values()),
            )
            for one in memories
        ]
        table("memories", ("memory", "count", "words", "bits", "read", "in", "cells"), rows)
    if routing := report["routing"]:
        fmax = routing["fmax_mhz"]
        clock = f"{fmax:.1f} MHz, {routing['clock_ns']:.4g} ns" if fmax else "no path"
        print(f"placed and routed in {routing['device']}: {clock}")
        used = [
            (kind, f"{count:,}", f"{most:,}", f"{count / most:.0%}")
            for kind, (count, most) in routing["used"].items()
        ]
        table("utilization", ("kind", "used", "available", "share"), used)


def _print(report: dict[str, Any]) -> None:
    """Print the report as text."""
    gate = report["gate"]
    print(
        f"{report['name']}: {report['area_um2']:,.1f} um2, "
        f"{report['gate_equivalents'] / 1000:,.1f} kGE ({gate['cell']}, {gate['area_um2']:g} um2), "
        f"{report['cells']:,} cells, {report['flip_flops']:,} flip-flops, "
        f"{report['memory_bits']:,} bits of memories not in the area"
    )
    target = f"{'meets' if report['met'] else 'misses'} {report['target_clock_ns']:.4g} ns"
    print(
        f"shortest clock {report['clock_ns']:.4g} ns, {target}; "
        f"effort {report['effort']}; {report['clock_by']}"
    )
    sizing = report["sizing"]
    print(f"sizing {sizing['by']}", end="")
    if sizing["cells_resized"] or sizing["buffers_added"]:
        print(
            f": {sizing['cells_resized']:,} cells of other sizes, {sizing['buffers_added']:,} "
            f"buffers, {len(sizing['restructured'])} modules mapped in another way; "
            f"before {sizing['clock_before_ns']:.4g} ns, {sizing['area_before_um2']:,.1f} um2",
            end="",
        )
    print()
    if report["timed_equal_instances"] is not None:
        print(
            f"{report['timed_cells']:,} cells timed: of equal instances in a module the first "
            f"{report['timed_equal_instances']}, for all of them"
        )
    classes = [
        (
            one["name"],
            f"{one['area_um2']:.1f}",
            f"{one['share']:.1%}",
            one["flip_flops"],
            one["memory_bits"],
        )
        for one in report["classes"]
    ]
    table("area by class", ("class", "um2", "share", "flip-flops", "memory bits"), classes)
    _print_units(report["units"], report["area_um2"])
    rows = [
        (one["start"], one["end"], f"{one['clock_ns']:.4g}", one["levels"])
        for one in report["paths"]
    ]
    table("worst paths", ("from", "to", "ns", "cells"), rows)


def _print_units(units: Sequence[dict[str, Any]], area_um2: float) -> None:
    """Print the units with the largest areas."""
    shown = [unit for unit in units if unit["total_um2"] or unit["memory_bits"]]
    rows = [
        (
            unit["module"],
            unit["count"],
            f"{unit['area_um2']:.1f}",
            f"{unit['total_um2']:.1f}",
            f"{unit['total_um2'] / area_um2 if area_um2 else 0:.1%}",
            unit["flip_flops"],
            unit["memory_bits"],
        )
        for unit in shown[:_UNITS]
    ]
    columns = ("module", "count", "um2", "um2 of all", "share", "flip-flops", "memory bits")
    table("area by unit, units in it apart", columns, rows)
    if len(shown) > _UNITS:
        print(f"{len(shown) - _UNITS} smaller units are in --json")
