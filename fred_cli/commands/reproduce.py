"""Command `fred reproduce`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.columns.identify import COLUMNS as IDENTIFIED
from fred_cli.columns.reproduce import READINGS, columns_of, readings_of
from fred_cli.command import Command
from fred_cli.names import section_name
from fred_cli.options import (
    TRAINING_OPTIONS,
    InputPath,
    ListingOption,
    OutputPath,
    as_json_option,
    csv_option,
    protocol_option,
    refuse_given,
    request_option,
)
from fred_cli.output import need_plotly, option_names, print_json, write_given
from fred_cli.progress import progress
from fred_hw.choices import not_one_of
from fred_hw.errors import InputError

__all__ = ["command"]


def _sections() -> str:
    from studies.reproduce import SECTIONS

    return f"{', '.join(SECTIONS)}; all if none."


@click.command("reproduce", cls=Command, example="fred reproduce --section table-5")
@click.option(
    "--section",
    "sections",
    multiple=True,
    metavar="NAME",
    type=section_name,
    cls=ListingOption,
    listing=_sections,
)
@click.option(
    "--rtl",
    is_flag=True,
    help="Instead compare phases in RTL simulation of switches and endpoints with the model.",
)
@click.option(
    "--chart",
    type=OutputPath(),
    metavar="FILE.html",
    help="Draw the chart of the --section, if it has one.",
)
@click.option(
    "--record",
    "records",
    multiple=True,
    type=InputPath(),
    metavar="FILE",
    help="With --rtl: also compare this record of a wafer or mesh, written by `fred characterize`. "
    "Repeat for more.",
)
@click.option(
    "--readings",
    is_flag=True,
    help="Also list every figure by every reading of the paper.",
)
@request_option("compute", "calibrated")
@request_option("algorithm")
@protocol_option
@csv_option
@as_json_option
def command(
    sections: tuple[str, ...],
    rtl: bool,
    records: tuple[Path, ...],
    readings: bool,
    chart: Path | None,
    compute: str,
    algorithm: str,
    protocol: Any,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Compare every published figure with the model's result, with and without protocol cost."""
    from perfmodel.training.compute_model import compute_model
    from studies.reproduce import count, identified, reproduce_both
    from studies.reproduce import reproduce as run
    from studies.section import SECTIONS, Setting

    if rtl:
        _against_rtl(records, csv_file, as_json)
        return
    refuse_given("records", message="must be given with --rtl only")
    for name in sections:
        if name not in SECTIONS:
            raise InputError(
                "--section", "", not_one_of(name, SECTIONS, listed_by="fred reproduce --help")
            )
    draw = _chart_of(sections) if chart else None
    moved = protocol != "ideal"
    with option_names(*TRAINING_OPTIONS), progress("reproducing published figures"):
        compute_model(compute)
        setting = Setting(protocol or "measured", compute, algorithm)
        chosen = sections or None
        rows = reproduce_both(chosen, setting) if moved else tuple(run(chosen, setting))
        drawn = draw(setting) if draw else ""
    columns = columns_of(moved=moved)
    write_given({csv_file: lambda: columns.csv(rows), chart: lambda: drawn})
    counts = count(rows)
    told = identified(rows, setting)
    if as_json:
        said = {"rows": [columns.json(row, row) for row in rows], "counts": counts}
        print_json({**said, "identified": told})
        return
    columns.print(
        f"Published figures and ours, protocol {setting.protocol}, compute {compute}", rows
    )
    if readings:
        READINGS.print("Figures by every reading of the paper", readings_of(rows))
    if told:
        IDENTIFIED.print("Compute that gives the published speed-up of FRED-C", told)
    _say_counts(rows, counts)


def _say_counts(rows: Sequence[Any], counts: Any) -> None:
    """Print how many figures are within tolerance, predictions first."""
    good = counts["predicted"]
    robust = sum(row.within[0] == row.within[1] for row in rows if row.evidence == "predicted")
    rest = ", ".join(
        f"{one.ok} of {one.rows} {name}"
        for name, one in counts.items()
        if name != "predicted" and one.rows
    )
    print(
        f"{good.ok} of {good.rows} predicted figures within tolerance, "
        f"{robust} of them by every reading of the paper"
    )
    if rest:
        print(f"not counted as evidence: {rest}")


def _chart_of(sections: Sequence[str]) -> Callable[[Any], str]:
    """Return a function that draws the chart of the single requested section."""
    need_plotly()
    from fred_cli.drawings.chart import page
    from fred_cli.drawings.sections import CHARTS

    if len(sections) != 1 or sections[0] not in CHARTS:
        message = f"must be one of {', '.join(CHARTS)}, given once, with --chart"
        raise InputError("--section", "", f"{message}, not {', '.join(sections) or 'all'}")
    name = sections[0]
    return lambda setting: page(f"fred reproduce --section {name}", CHARTS[name](setting))


def _against_rtl(records: tuple[Path, ...], csv_file: Path | None, as_json: bool) -> None:
    """Print built-in records of wafers and meshes, and other records, compared with the model."""
    from fred_cli.columns.rtl import COLUMNS, SUMMARY
    from studies.rtl import summaries
    from studies.rtl_shipped import (
        SHIPPED_CYCLES,
        record_against_rtl,
        shipped_against_rtl,
    )

    names = ("sections", "readings", "chart", "compute", "algorithm", "protocol")
    refuse_given(*names, message="must not be given with --rtl")
    own = {path: record_against_rtl(path) for path in records}
    shipped = [shipped_against_rtl(name) for name in SHIPPED_CYCLES]
    every = [*shipped, *own.values()]
    COLUMNS.write([row for one in every for row in one.rows], csv_file)
    if as_json:
        parts: dict[str, Any] = {}
        for one in shipped:
            parts |= {f"{one.key}{name}": said for name, said in _parts(one.rows).items()}
        own_parts = [{"file": str(path), **_parts(one.rows)} for path, one in own.items()]
        print_json({**parts, "records": own_parts})
        return
    for _, _, title, one, found in every:
        wires = f"links of {one.link_cycles} cycles, memory of {one.memory_cycles}"
        COLUMNS.print(f"Phases on {title}{one.name}, {wires}", found)
        SUMMARY.print("Errors of the model", summaries(found))
        good = sum(row.ok for row in found)
        within = "within 3 %, or up to 10,000 cycles within 10 % or 60 cycles"
        print(f"{good} of {len(found)} phases {within}")


def _parts(rows: Sequence[Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a record and their summaries as JSON values."""
    from fred_cli.columns.rtl import COLUMNS, SUMMARY
    from studies.rtl import summaries

    tables = {"rows": (COLUMNS, rows), "summaries": (SUMMARY, summaries(rows))}
    return {
        name: [how.json(one, one) for one in figures] for name, (how, figures) in tables.items()
    }
