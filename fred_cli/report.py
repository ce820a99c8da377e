"""The HTML report: one page that needs no network."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import jinja2
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
from perfmodel.collectives.run import CollectiveResult, profile, run_collective
from perfmodel.published import ALL_REDUCE_BANDWIDTH, SWEEPS
from perfmodel.studies.compare import Row, compare
from perfmodel.studies.reproduce import MovedRow, reproduce_both, swept
from perfmodel.studies.strategies import StrategyRow
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.calibration import calibrate
from perfmodel.training.placement import place
from perfmodel.workloads.workload import WORKLOADS

from .charts import bandwidth_chart, iteration_chart, parts, strategy_chart
from .drawing import COLOURS, draw_interconnect
from .load_map import colour_key, draw_loads
from .output import as_csv, plain
from .simulation import load_testbench
from .training import MOVED_COLUMNS, PARTS, reproduce_cells

__all__ = ["build"]

SIZE_BYTES = float(2**30)
_PHASES = (
    ("all-reduce of all NPUs", "all_reduce", "wafer"),
    ("MP all-reduce of MP2-DP5-PP2", "all_reduce", "mp"),
    ("DP all-reduce of MP2-DP5-PP2", "all_reduce", "dp"),
    ("PP multicast of MP2-DP5-PP2", "broadcast", "pp"),
    ("weights streamed to all NPUs", "stream_in", "wafer"),
    ("gradients streamed to storage", "stream_out", "wafer"),
)
_MAPPED = ("mesh:5x4", "fred-a", "fred-d")


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
    wafer = gather()
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
        wafer=wafer,
        collectives=[
            (result, ALL_REDUCE_BANDWIDTH[result.topology]) for result in wafer.all_reduce
        ],
        charts=wafer.charts(),
        downloads={name: _download(*table) for name, table in wafer.tables().items()},
        colours=colour_key(),
        plotly=get_plotlyjs(),
    )
    numbers = {
        "manifest": design.manifest,
        "simulation": simulation,
        "all_reduce": plain(wafer.all_reduce),
        "compare": [_flat(row) for row in wafer.first_principles],
        "compare_calibrated": [_flat(row) for row in wafer.calibrated],
        "reproduce": plain(wafer.reproduced),
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


@dataclass(frozen=True)
class Wafer:
    """What the page shows of wafers.

    Parameters
    ----------
    all_reduce : tuple of CollectiveResult
        Of 1 GiB on each fabric.
    first_principles, calibrated : tuple of Row
        All workloads on all fabrics.
    scales : dict
        Calibrated scale of compute of each workload.
    reproduced : tuple of MovedRow
        Published figures and ours, with the protocol as measured and ideal.
    sweeps : dict
        Strategies of each workload.
    maps : tuple
        Phase, fabric, drawing, and pairs of link and load.
    """

    all_reduce: tuple[CollectiveResult, ...]
    first_principles: tuple[Row, ...]
    calibrated: tuple[Row, ...]
    scales: dict[str, float]
    reproduced: tuple[MovedRow, ...]
    sweeps: dict[str, tuple[StrategyRow, ...]]
    maps: tuple[tuple[str, str, str, tuple[tuple[str, float], ...]], ...]

    def charts(self) -> dict[str, str]:
        """Return the charts by name."""
        return {
            "bandwidth": bandwidth_chart(self.reproduced),
            "calibrated": iteration_chart(self.calibrated, "chart-calibrated"),
            "first_principles": iteration_chart(self.first_principles, "chart-first-principles"),
            **{
                f"sweep_{name}": strategy_chart(rows, f"chart-sweep-{name}")
                for name, rows in self.sweeps.items()
            },
        }

    def tables(self) -> dict[str, tuple[Sequence[str], list[tuple[object, ...]]]]:
        """Return the numbers of each chart by name, as columns and rows."""
        bandwidths = [row for row in self.reproduced if row.id.startswith("bandwidth/")]
        columns = ("workload", "strategy", "fabric", "speedup", *(f"{p} [s]" for p in PARTS))
        return {
            "bandwidth": (MOVED_COLUMNS, [reproduce_cells(row) for row in bandwidths]),
            "reproduce": (MOVED_COLUMNS, [reproduce_cells(row) for row in self.reproduced]),
            "calibrated": (columns, [_cells(row) for row in self.calibrated]),
            "first_principles": (columns, [_cells(row) for row in self.first_principles]),
            "loads": (
                ("phase", "fabric", "link", "utilisation"),
                [(phase, name, *pair) for phase, name, _, pairs in self.maps for pair in pairs],
            ),
            **{
                f"sweep_{name}": (
                    ("strategy", "fabric", "samples", *(f"{part} [s]" for part in PARTS)),
                    [
                        (e.strategy, e.topology, e.minibatch, *parts(e).values())
                        for e in (row.estimate for row in rows)
                    ],
                )
                for name, rows in self.sweeps.items()
            },
        }


@cache
def gather() -> Wafer:
    """Simulate all that the page shows of wafers."""
    fabrics = [parse_topology(name) for name in FABRICS]
    return Wafer(
        all_reduce=tuple(run_collective(one, "all_reduce", SIZE_BYTES) for one in fabrics),
        first_principles=compare(),
        calibrated=compare(compute="calibrated"),
        scales={name: calibrate(name).scale for name in WORKLOADS},
        reproduced=reproduce_both(),
        sweeps={name: swept(name, "measured") for name in SWEEPS},
        maps=tuple(_map(phase, name) for name in _MAPPED for phase in _PHASES),
    )


def _map(
    phase: tuple[str, str, str], name: str
) -> tuple[str, str, str, tuple[tuple[str, float], ...]]:
    """Return a phase on a fabric: names, drawing, and load of each link in use."""
    title, pattern, kind = phase
    fabric = parse_topology(name)
    placed = place(fabric, Strategy(2, 5, 2), "columns" if name.startswith("mesh") else "linear")
    groups: Sequence[Sequence[int]] = [range(fabric.npus)]
    if kind == "mp":
        groups = [*placed.mp_groups(0), *placed.mp_groups(1)]
    elif kind == "dp":
        groups = [*placed.dp_groups(0), *placed.dp_groups(1)]
    elif kind == "pp":
        groups = placed.multicasts(0, 1)
    found = profile(fabric, pattern, SIZE_BYTES, groups)[0]
    loads = {
        link: carried / fabric.capacities[link] / found.time_s for link, carried in found.loads
    }
    named = tuple((fabric.link_name(link), share) for link, share in loads.items())
    return title, name, draw_loads(fabric, loads, f"{title} on {name}"), named


def _flat(row: Row) -> dict[str, Any]:
    return {**plain(row.estimate), "speedup": row.speedup}


def _cells(row: Row) -> tuple[object, ...]:
    e = row.estimate
    return (e.workload, e.strategy, e.topology, row.speedup, *parts(e).values())


def _download(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table as an address that holds it as CSV."""
    return "data:text/csv;charset=utf-8," + quote(as_csv(columns, rows))
