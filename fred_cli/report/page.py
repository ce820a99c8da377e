"""The HTML report: a self-contained page that needs no network."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
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
from fred_cli.templates import environment, neighbour
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.routing import route
from fred_hw.errors import InputError
from fred_hw.load import load_spec
from fred_hw.progress import parts
from fred_hw.spec import SwitchSpec
from gen.design import generate
from gen.level import LEVELS
from gen.write import check_file, check_folder, write_files
from perfmodel.training.compare import Row

from .download import download
from .evidence import SECTIONS, evidence_numbers
from .explorer import explorer
from .maps import as_csv, maps
from .results import simulation_results, work_folder
from .shown import all_reduce, find_simulator, shown_folder
from .study import Question, Study, study
from .summary import duration, summary
from .verification import verification

__all__ = ["Made", "build"]

_PAGE, _NUMBERS, _TIMELINE = "index.html", "report.json", "iteration.perfetto.json"

_SIMULATORS = ("icarus",)
"""Simulators that build within seconds, in the order of preference."""

_Section = tuple[float, Callable[[], dict[str, Any]]]
"""Approximate processor time of a section [s], and the function that makes it."""


@dataclass(frozen=True)
class Made:
    """How a page was made, as stated on the page.

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
        """Return the statement for a page made now."""
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
    """Write ``index.html`` and its numbers, ``report.json``, to ``folder``.

    Parameters
    ----------
    spec_source : str
        File or preset of the switch to show.
    folder : Path
        Folder to write to, made if missing.
    results : Path or None
        Output of ``fred sim --json``; None to co-simulate the switch with Icarus.
    question : Question
        The user's wafers, workload and strategy.
    made : Made
        Description of how the page was made.
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
    LEVELS["interconnect"].check(spec, spec_source)
    if results is None:
        check_folder(work_folder(spec))
    if find_simulator(_SIMULATORS):
        check_folder(shown_folder(spec))
    # Check the given results before any long computation.
    given = simulation_results(spec, results) if results else None
    asked = study(question)
    sections: dict[str, _Section] = {
        "strategies": (1 + asked.sweep_s, lambda: {"explorer": _explorer(asked)}),
        "iteration": (3, lambda: _study(asked)),
        "links": (1, lambda: _links(asked)),
        "switch and co-simulation": (3 if given else 13, lambda: _switch(spec, spec_source, given)),
        "verification": (1, verification),
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
    """Make all sections, and report the section in progress."""
    page: dict[str, Any] = {}
    sizes = {name: ceil(seconds) for name, (seconds, _) in sections.items()}
    with parts("steps", sum(sizes.values())) as begin:
        for name, (_, make) in sections.items():
            begin(sizes[name], name)
            page |= make()
    return page


def _switch(spec: SwitchSpec, source: str, given: dict[str, Any] | None) -> dict[str, Any]:
    """Return the content on the switch and its co-simulation, which runs unless given."""
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
    """Return the answer, the price, and the content on an iteration."""
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
    """Return the maps of link loads."""
    mapped = maps(asked)
    return {"maps": mapped, "map_table": download(as_csv(mapped))}


def _numbers(page: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers that the page shows, as JSON values."""
    asked = page["study"]
    return {
        "made": asdict(page["made"]),
        "own": asked.own,
        "iterations": [COMPARE.json(row.estimate, row) for row in asked.rows],
        "hardware": [HARDWARE.json(row, row) for row in page["hardware_rows"]],
        "manifest": page["design"].manifest,
        "simulation": page["simulation"],
        "verification": [asdict(one) for one in page["verified"]],
        **(evidence_numbers(page) if page["evidence"] else {}),
    }


def _compare_columns(rows: Sequence[Row]) -> tuple[Column, ...]:
    """Return the columns of a table of iterations, without parts that are empty in all rows."""
    return COMPARE.without(*rare_columns(row.estimate for row in rows)).titled


def _look() -> dict[str, Any]:
    """Return the style and script values of the page."""
    return {
        "idea": draw_idea(),
        "colours": colour_key(),
        "dark_colours": dark_colours(),
        "style": asset("page.css"),
        "report_style": neighbour("fred_cli.report", "report.css"),
        "report_script": neighbour("fred_cli.report", "report.js"),
        "charts_script": asset("charts.js"),
        "plotly": plotly_packed(),
    }


def _template() -> jinja2.Template:
    found = environment("fred_cli.report")
    found.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return found.get_template("report.html.j2")


def _shown_flows(spec: SwitchSpec) -> tuple[Strategy, tuple[Flow, ...]]:
    """Return the data-parallel all-reduces of the strategy that uses the most ports."""
    mp = 2 if spec.ports >= 4 else 1
    strategy = Strategy(mp=mp, dp=spec.ports // mp, pp=1)
    return strategy, phases(strategy, ports=spec.ports)["dp_all_reduce"]
