"""The HTML report: one page that needs no network."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any

import jinja2

from fred_cli.columns.column import Column
from fred_cli.columns.compare import COLUMNS as COMPARE
from fred_cli.columns.hardware import COLUMNS as HARDWARE
from fred_cli.columns.parts import PARTS, rare_columns
from fred_cli.drawings.chart import asset, plotly_packed
from fred_cli.drawings.charts import iteration_chart, roofline_chart
from fred_cli.drawings.idea import draw_idea
from fred_cli.drawings.interconnect import COLOURS, draw_interconnect
from fred_cli.drawings.loads import colour_key, dark_colours
from fred_cli.hardware_table import hardware_rows, price
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.routing import route
from fred_hw.errors import InputError
from fred_hw.load import load_spec
from fred_hw.progress import parts
from fred_hw.spec import SwitchSpec
from fred_hw.visible import visible
from gen.design import generate
from gen.write import check_file, check_folder, write_files
from perfmodel.studies.compare import Row

from .download import download
from .evidence import SECTIONS, evidence_numbers
from .explorer import explorer
from .maps import as_csv, maps
from .results import simulation_results, work_folder
from .shown import all_reduce, find_simulator, shown_folder
from .study import Question, Study, study
from .summary import duration, summary

__all__ = ["Made", "build"]

_PAGE, _NUMBERS, _TIMELINE = "index.html", "report.json", "iteration.perfetto.json"

_SIMULATORS = ("icarus",)
"""Simulators that build in seconds, in the order of trying, before those of given results."""

_Section = tuple[float, Callable[[], dict[str, Any]]]
"""About how long a section takes [s of processor time], and what makes it."""


@dataclass(frozen=True)
class Made:
    """How a page was made; the page says so.

    Parameters
    ----------
    command, day, version : str
        The command line, the date in ISO 8601, and the version of the package.
    """

    command: str
    day: str
    version: str

    @classmethod
    def now(cls, command: str) -> "Made":
        """Return what a page made today says."""
        return cls(command, date.today().isoformat(), version("fred-hw"))


def build(
    spec_source: str,
    folder: Path,
    results: Path | None,
    question: Question,
    made: Made,
    *,
    evidence: bool = False,
) -> list[Path]:
    """Write ``index.html`` and the numbers behind it, ``report.json``, to ``folder``.

    Parameters
    ----------
    spec_source : str
        File or preset of the switch to show.
    folder : Path
        Folder to write to, made if missing.
    results : Path or None
        What ``fred sim --json`` printed; None to co-simulate the switch with Icarus.
    question : Question
        Own wafers, workload and strategy.
    made : Made
        How the page was made.
    evidence : bool
        Whether to add the evidence, and the timeline of RTL iterations for Perfetto.

    Raises
    ------
    InputError
        An input is bad, or a file cannot be written.
    """
    for name in (_PAGE, _NUMBERS, *([_TIMELINE] if evidence else [])):
        check_file(folder / name)
    spec = load_spec(spec_source)
    if results is None:
        check_folder(work_folder(spec))
    if find_simulator(_SIMULATORS):
        check_folder(shown_folder(spec))
    # What is given is refused before anything that takes long.
    given = simulation_results(spec, results) if results else None
    asked = study(question)
    sections: dict[str, _Section] = {
        "strategies": (1 + asked.sweep_s, lambda: {"explorer": _explorer(asked)}),
        "iteration": (3, lambda: _study(asked)),
        "links": (1, lambda: _links(asked)),
        "switch and co-simulation": (3 if given else 13, lambda: _switch(spec, spec_source, given)),
        **(SECTIONS if evidence else {}),
    }
    page = {"evidence": evidence, "made": made, **_made_all(sections)}
    html = _template().render(**page, **_look())
    written = {_PAGE: html, _NUMBERS: json.dumps(_numbers(page), indent=1) + "\n"}
    if evidence:
        timeline = page["hardware"].timeline()
        written[_TIMELINE] = json.dumps(timeline, separators=(",", ":"))
    return write_files(written, folder)


def _made_all(sections: dict[str, _Section]) -> dict[str, Any]:
    """Make all sections, and report which one is being made."""
    page: dict[str, Any] = {}
    sizes = {name: ceil(seconds) for name, (seconds, _) in sections.items()}
    with parts("steps", sum(sizes.values())) as begin:
        for name, (_, make) in sections.items():
            begin(sizes[name], name)
            page |= make()
    return page


def _switch(spec: SwitchSpec, source: str, given: dict[str, Any] | None) -> dict[str, Any]:
    """Return what the page shows of the switch and its co-simulation, which runs unless given."""
    strategy, flows = _shown_flows(spec)
    routing = route(flows, spec.ports, spec.middle_switches)
    if routing.configuration is None:
        raise InputError(
            source, "middle_switches", f"must route {strategy}, which {spec.middle_switches} do not"
        )
    simulation = given or simulation_results(spec, None)
    simulators = dict.fromkeys([*_SIMULATORS, *(run["simulator"] for run in simulation["runs"])])
    return {
        "simulation": simulation,
        "design": generate(spec),
        "spec": spec,
        "spec_name": source,
        "switch_strategy": strategy,
        "flows": list(zip(flows, COLOURS * len(flows), strict=False)),
        "drawing": draw_interconnect(routing.configuration, flows),
        "all_reduce": all_reduce(spec, list(simulators)),
    }


def _explorer(asked: Study) -> dict[str, Any]:
    """Return the strategies of the workload."""
    return explorer({asked.workload.name: asked.swept})


def _study(asked: Study) -> dict[str, Any]:
    """Return the answer, the price, and what the page shows of an iteration."""
    timelines, beside = asked.timelines(), hardware_rows()
    cost = price(beside)
    kinds = {lane["kind"] for one in timelines.values() for lane in one["lanes"]}
    return {
        "study": asked,
        "summary": summary(asked, cost),
        "price": cost,
        "duration": duration,
        "hardware_rows": beside,
        "hardware_table_columns": HARDWARE.titled,
        "hardware_table_csv": download(HARDWARE.csv(beside)),
        "iteration_chart": iteration_chart(asked.rows, "chart-iteration"),
        "iteration_table": download(COMPARE.without("iteration [s]").csv(asked.rows)),
        "compare_columns": _compare_columns,
        "timelines": timelines,
        "timeline_parts": [part for part in PARTS if part.name in kinds],
        "parts": [asdict(part) for part in PARTS],
        "points": asked.points,
        "roofline_chart": roofline_chart(asked.points, asked.npu),
    }


def _links(asked: Study) -> dict[str, Any]:
    """Return the maps of the load of links."""
    mapped = maps(asked)
    return {"maps": mapped, "map_table": download(as_csv(mapped))}


def _numbers(page: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers that the page shows, as JSON has them."""
    asked = page["study"]
    return {
        "made": asdict(page["made"]),
        "own": asked.own,
        "iterations": [COMPARE.json(row.estimate, row) for row in asked.rows],
        "hardware": [HARDWARE.json(row, row) for row in page["hardware_rows"]],
        "manifest": page["design"].manifest,
        "simulation": page["simulation"],
        **(evidence_numbers(page) if page["evidence"] else {}),
    }


def _compare_columns(rows: Sequence[Row]) -> tuple[Column, ...]:
    """Return the columns of a table of iterations, without parts that none of them has."""
    return COMPARE.without(*rare_columns(row.estimate for row in rows)).titled


def _look() -> dict[str, Any]:
    """Return what the page is drawn with."""
    return {
        "idea": draw_idea(),
        "colours": colour_key(),
        "dark_colours": dark_colours(),
        "style": asset("page.css"),
        "report_style": _text("report.css"),
        "report_script": _text("report.js"),
        "charts_script": asset("charts.js"),
        "plotly": plotly_packed(),
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
