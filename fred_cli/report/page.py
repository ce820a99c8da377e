"""The HTML report: one page that needs no network."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from fred_cli.columns.algorithms import COLUMNS as ALGORITHMS
from fred_cli.columns.algorithms import binary_size
from fred_cli.columns.column import Column
from fred_cli.columns.compare import COLUMNS as COMPARE
from fred_cli.columns.hardware import COLUMNS as HARDWARE
from fred_cli.columns.identify import COLUMNS as IDENTIFIED
from fred_cli.columns.parts import PARTS, rare_columns
from fred_cli.columns.reproduce import columns_of
from fred_cli.drawings.chart import asset, plotly_packed
from fred_cli.drawings.charts import iteration_chart, roofline_chart
from fred_cli.drawings.interconnect import COLOURS, draw_interconnect
from fred_cli.drawings.loads import colour_key, dark_colours
from fred_cli.hardware_table import hardware_rows
from fred_cli.output import plain
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.routing import route
from fred_hw.errors import InputError
from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from fred_hw.visible import visible
from gen.design import generate
from gen.write import check_file, check_folder, write_files
from perfmodel.studies.algorithms import (
    PATTERNS_COMPARED,
    SIZES_COMPARED_BYTES,
    TOPOLOGIES_COMPARED,
    catching_up,
    compare_algorithms,
    winners,
)
from perfmodel.studies.compare import Row
from perfmodel.studies.reproduce import count
from perfmodel.topology.parse import parse_topology

from .explorer import explorer
from .hardware import gather_hardware
from .maps import Map, as_csv, maps
from .results import simulation_results, work_folder
from .shown import all_reduce, find_simulator, shown_folder
from .study import Question, Study, study
from .summary import summary
from .wafer import Wafer, gather

__all__ = ["build", "simulation_logs"]

_PAGE, _NUMBERS, _TIMELINE = "index.html", "report.json", "iteration.perfetto.json"

_SIMULATORS = ("icarus",)
"""Simulators that build in seconds, in the order of trying, before those of given results."""


def simulation_logs(spec_source: str) -> list[Path]:
    """Return the logs in which simulators report progress."""
    spec = load_spec(spec_source)
    return [one / "simulation.log" for one in (work_folder(spec), shown_folder(spec))]


def build(
    spec_source: str, folder: Path, results: Path | None, question: Question | None = None
) -> list[Path]:
    """Write ``index.html``, the numbers behind it and the timeline of RTL iterations to ``folder``.

    The numbers are in ``report.json``; Perfetto opens ``iteration.perfetto.json``.

    Parameters
    ----------
    spec_source : str
        File or preset of the switch to show.
    folder : Path
        Folder to write to, made if missing.
    results : Path, optional
        What ``fred sim --json`` printed; the switch is co-simulated with Icarus otherwise.
    question : Question, optional
        Own wafers, workload and strategy.

    Raises
    ------
    InputError
        An input is bad, or a file cannot be written.
    """
    for name in (_PAGE, _NUMBERS, _TIMELINE):
        check_file(folder / name)
    spec = load_spec(spec_source)
    if results is None:
        check_folder(work_folder(spec))
    if find_simulator(_SIMULATORS):
        check_folder(shown_folder(spec))
    # What is given is refused before anything that takes long.
    given = simulation_results(spec, results) if results else None
    asked = study(question or Question())
    simulation = given or simulation_results(spec, None)
    wafer, mapped = gather(), maps(asked)
    page = {**_switch(spec, spec_source, simulation), **_study(asked, wafer, mapped)}
    page |= {**_hardware(), **_algorithms()}
    html = _template().render(**page, simulation=simulation, **_published(wafer), **_look())
    numbers = {
        "manifest": page["design"].manifest,
        "simulation": simulation,
        "rtl_iterations": [one.to_dict() for one in page["hardware"].iterations],
        "rtl_phases": plain(page["hardware"].rows),
        "hardware": [HARDWARE.json(row, row) for row in page["hardware_rows"]],
        "algorithms": plain(page["algorithms"]),
        **_figures(asked, wafer),
    }
    timeline = json.dumps(page["hardware"].timeline(), separators=(",", ":"))
    files = {_PAGE: html, _NUMBERS: json.dumps(numbers, indent=1) + "\n", _TIMELINE: timeline}
    return write_files(files, folder)


def _switch(spec: SwitchSpec, source: str, simulation: dict[str, Any]) -> dict[str, Any]:
    """Return what the page says of the switch."""
    strategy, flows = _shown_flows(spec)
    routing = route(flows, spec.ports, spec.middle)
    if routing.configuration is None:
        raise InputError(source, "middle", f"must route {strategy}, which {spec.middle} do not")
    simulators = dict.fromkeys([*_SIMULATORS, *(run["simulator"] for run in simulation["runs"])])
    return {
        "design": generate(spec),
        "spec": spec,
        "switch_strategy": strategy,
        "flows": list(zip(flows, COLOURS * len(flows), strict=False)),
        "drawing": draw_interconnect(routing.configuration, flows),
        "word": f"{routing.configuration.pack():#x}",
        "all_reduce": all_reduce(spec, list(simulators)),
    }


def _study(asked: Study, wafer: Wafer, mapped: tuple[Map, ...]) -> dict[str, Any]:
    """Return what the page says of the question."""
    swept = {asked.workload.name: asked.swept} if asked.own else wafer.sweeps
    timelines = asked.timelines()
    kinds = {lane["kind"] for one in timelines.values() for lane in one["lanes"]}
    return {
        "study": asked,
        "summary": summary(asked, wafer.calibrated, wafer.first_principles),
        "iteration_chart": iteration_chart(asked.rows, "chart-iteration"),
        "explorer": explorer(swept),
        "timelines": timelines,
        "timeline_parts": [part for part in PARTS if part.name in kinds],
        "parts": [asdict(part) for part in PARTS],
        "points": asked.points,
        "roofline_chart": roofline_chart(asked.points, asked.npu),
        "maps": mapped,
        "map_table": _download(as_csv(mapped)),
        "iteration_table": _download(COMPARE.without("iteration [s]").csv(asked.rows)),
    }


def _hardware() -> dict[str, Any]:
    """Return what the page says of RTL beside the model."""
    found, beside = gather_hardware(), hardware_rows()
    return {
        "hardware": found,
        "hardware_charts": found.charts(),
        "hardware_table": _download(found.table()),
        "hardware_rows": beside,
        "hardware_table_columns": HARDWARE.titled,
        "hardware_table_csv": _download(HARDWARE.csv(beside)),
    }


def _algorithms() -> dict[str, Any]:
    """Return what the page says of collective algorithms."""
    topologies = [parse_topology(name) for name in TOPOLOGIES_COMPARED]
    rows = compare_algorithms(topologies, PATTERNS_COMPARED, SIZES_COMPARED_BYTES, [None])
    return {
        "algorithms": rows,
        "fastest": winners(rows),
        "collectives": len({row.collective for row in rows}),
        "catching_up": [
            f"{row.pattern}, {binary_size(row.size_bytes)}, on {row.topology} ({row.algorithm})"
            for row in catching_up(rows)
        ],
        "algorithm_columns": ALGORITHMS.titled,
        "algorithms_csv": _download(ALGORITHMS.csv(rows)),
    }


def _published(wafer: Wafer) -> dict[str, Any]:
    """Return what the page has beside published figures."""
    return {
        "wafer": wafer,
        "compare_columns": _compare_columns,
        "identified_columns": IDENTIFIED.titled,
        "reproduce_columns": columns_of(moved=True).titled,
        "charts": wafer.charts(),
        "counts": count(wafer.reproduced),
        "downloads": {name: _download(table) for name, table in wafer.tables().items()},
    }


def _compare_columns(rows: Sequence[Row]) -> tuple[Column, ...]:
    """Return the columns of a table of iterations, without parts that none of them has."""
    return COMPARE.without(*rare_columns(row.estimate for row in rows)).titled


def _look() -> dict[str, Any]:
    """Return what the page is drawn with."""
    return {
        "colours": colour_key(),
        "dark_colours": dark_colours(),
        "style": asset("page.css"),
        "report_style": _text("report.css"),
        "report_script": _text("report.js"),
        "charts_script": asset("charts.js"),
        "plotly": plotly_packed(),
    }


def _figures(asked: Study, wafer: Wafer) -> dict[str, Any]:
    """Return what the page shows of wafers as JSON has it."""
    return {
        "own": asked.own,
        "iterations": [COMPARE.json(row.estimate, row) for row in asked.rows],
        "all_reduce": plain(wafer.all_reduce),
        "compare": [COMPARE.json(row.estimate, row) for row in wafer.first_principles],
        "compare_weights": [COMPARE.json(row.estimate, row) for row in wafer.weights],
        "compare_calibrated": [COMPARE.json(row.estimate, row) for row in wafer.calibrated],
        "identified": plain(wafer.identified),
        "reproduce": plain(wafer.reproduced),
    }


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fred_cli.report", "templates"),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment.get_template("report.html.j2")


def _text(name: str) -> str:
    """Return a file that stands beside the templates."""
    return (files("fred_cli.report") / "templates" / name).read_text(encoding="utf-8")


def _shown_flows(spec: SwitchSpec) -> tuple[Strategy, tuple[Flow, ...]]:
    """Return the data-parallel all-reduces of a strategy that uses most ports."""
    mp = 2 if spec.ports >= 4 else 1
    strategy = Strategy(mp=mp, dp=spec.ports // mp, pp=1)
    return strategy, phases(strategy, ports=spec.ports)["dp_all_reduce"]


def _download(table: str) -> str:
    """Return an address that holds a table, which is CSV."""
    return "data:text/csv;charset=utf-8," + quote(table)
