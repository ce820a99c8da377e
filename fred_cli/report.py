"""The HTML report: one page that needs no network."""

import json
from pathlib import Path
from typing import Annotated, Any

import jinja2
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from pydantic import Field

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.routing import route
from fred_hw.errors import InputError
from fred_hw.files import FileModel, read_yaml, validate
from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from gen.design import generate
from gen.write import write_files
from perfmodel.collectives.run import CollectiveResult, run_collective
from perfmodel.compare import Row, compare
from perfmodel.published import ALL_REDUCE_BANDWIDTH
from perfmodel.topology.parse import FABRICS, parse_topology

from .drawing import COLOURS, draw_interconnect
from .output import plain
from .simulation import load_testbench

__all__ = ["build"]

SIZE_BYTES = float(2**30)
_LAYOUT: dict[str, Any] = {
    "template": "plotly_white",
    "font": {"family": "system-ui, sans-serif", "size": 14},
    "margin": {"l": 60, "r": 20, "t": 20, "b": 50},
    "height": 380,
    "legend": {"orientation": "h", "y": 1.08, "x": 0},
}


class _Part(FileModel, extra="ignore"):
    """What the page shows of the results; they hold more."""


class _Test(_Part):
    name: str
    passed: bool
    message: str


class _Measurements(_Part):
    """None where the test that measures it failed or did not run."""

    latency_cycles: int | None = None
    throughput_flits_per_cycle: float | None = None
    reconfiguration_cycles: int | None = None
    flits_checked: int | None = None


class _Run(_Part):
    simulator: str
    version: str
    tests: Annotated[list[_Test], Field(min_length=1)]
    measurements: _Measurements


class _Results(_Part):
    name: str
    seed: int
    runs: list[_Run]


def build(spec_source: str, folder: Path, results: Path | None) -> list[Path]:
    """Write ``index.html`` and the numbers behind it, ``report.json``, to ``folder``.

    Parameters
    ----------
    spec_source : str
        File or preset of the switch to show.
    folder : Path
        Folder to write to, made if missing.
    results : Path, optional
        What ``fred sim --json`` printed; the switch is co-simulated with Icarus otherwise.

    Raises
    ------
    InputError
        An input is bad, or the folder cannot be written.
    """
    spec = load_spec(spec_source)
    simulation = _simulation(spec, results)
    design = generate(spec)
    strategy, flows = _shown_flows(spec)
    routing = route(flows, spec.ports, spec.middle)
    if routing.configuration is None:
        raise InputError(
            spec_source, "middle", f"must route {strategy}, which {spec.middle} do not"
        )
    collectives = [
        run_collective(parse_topology(name), "all_reduce", SIZE_BYTES) for name in FABRICS
    ]
    rows = compare()
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fred_cli", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    html = environment.get_template("report.html.j2").render(
        design=design,
        spec=spec,
        simulation=simulation,
        strategy=strategy,
        flows=list(zip(flows, COLOURS * len(flows), strict=False)),
        drawing=draw_interconnect(routing.configuration, flows),
        word=f"{routing.configuration.pack():#x}",
        collectives=[(result, ALL_REDUCE_BANDWIDTH[result.topology]) for result in collectives],
        rows=rows,
        charts={"all_reduce": _all_reduce_chart(collectives), "iterations": _iteration_chart(rows)},
        plotly=get_plotlyjs(),
    )
    numbers = {
        "manifest": design.manifest,
        "simulation": simulation,
        "all_reduce": plain(collectives),
        "compare": plain(rows),
    }
    files = {"index.html": html, "report.json": json.dumps(numbers, indent=1) + "\n"}
    return write_files(files, folder)


def _simulation(spec: SwitchSpec, results: Path | None) -> dict[str, Any]:
    """Return the co-simulation results to show."""
    if results is not None:
        return _read_results(spec, results)
    cosimulation, runner = load_testbench()
    try:
        run = cosimulation.cosimulate(spec, Path("build") / "sim-results" / spec.name / "icarus")
    except runner.SimulatorError as error:
        raise InputError("--results", "", str(error)) from None
    return {"failures": len(run.failures), "seed": run.seed, "runs": [run.to_dict()]}


def _read_results(spec: SwitchSpec, path: Path) -> dict[str, Any]:
    """Return what `fred sim --json` printed, if it is that and of this switch."""
    data = read_yaml(path)
    if not isinstance(data, dict) or not isinstance(data.get("runs"), list) or not data["runs"]:
        raise InputError(str(path), "runs", "must be what `fred sim --json` prints")
    results = validate(_Results, data, str(path))
    if results.name != spec.name:
        raise InputError(str(path), "name", f"must be {spec.name}, not {results.name}")
    names = [[test.name for test in run.tests] for run in results.runs]
    if any(one != names[0] for one in names):
        raise InputError(str(path), "runs", "must be runs of the same tests")
    return data


def _shown_flows(spec: SwitchSpec) -> tuple[Strategy, tuple[Flow, ...]]:
    """Return the data-parallel all-reduces of a strategy that uses most ports."""
    mp = 2 if spec.ports >= 4 else 1
    strategy = Strategy(mp=mp, dp=spec.ports // mp, pp=1)
    return strategy, phases(strategy, ports=spec.ports)["dp_all_reduce"]


def _chart(figure: go.Figure, name: str) -> str:
    """Return the chart as a div; the library itself stands once in the page."""
    return figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        config={"displaylogo": False, "responsive": True},
    )


def _all_reduce_chart(results: list[CollectiveResult]) -> str:
    names = [result.topology for result in results]
    ours = [result.npu_bandwidth_bytes_per_s / 1e12 for result in results]
    published = [ALL_REDUCE_BANDWIDTH[name].value / 1e12 for name in names]
    figure = go.Figure(
        [
            go.Bar(name="simulated here", x=names, y=ours, marker_color="#0072b2"),
            go.Bar(
                name="published, or derived from it", x=names, y=published, marker_color="#c9ced6"
            ),
        ]
    )
    figure.update_traces(texttemplate="%{y:.2f}", textposition="outside", cliponaxis=False)
    figure.update_layout(
        **_LAYOUT,
        barmode="group",
        yaxis_title="effective NPU bandwidth [TB/s]",
        yaxis_range=[0, 6.5],
    )
    return _chart(figure, "chart-all-reduce")


def _iteration_chart(rows: tuple[Row, ...]) -> str:
    """Show the exposed gradient all-reduce relative to the mesh, per workload."""
    figure = go.Figure()
    workloads = list(dict.fromkeys(row.workload for row in rows))
    mesh = {row.workload: row.exposed_s.dp for row in rows if row.topology == FABRICS[0]}
    for index, name in enumerate(FABRICS):
        exposed = {row.workload: row.exposed_s.dp for row in rows if row.topology == name}
        relative = [(exposed[workload] or 0.0) / (mesh[workload] or 1.0) for workload in workloads]
        figure.add_bar(name=name, x=workloads, y=relative, marker_color=COLOURS[index])
    figure.update_traces(texttemplate="%{y:.2f}", textposition="outside", cliponaxis=False)
    figure.update_layout(**_LAYOUT, barmode="group", yaxis_title="relative to the mesh")
    return _chart(figure, "chart-iterations")
