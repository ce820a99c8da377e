"""The HTML report: one page that needs no network."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from plotly.offline import get_plotlyjs

from fred_cli.columns.compare import COLUMNS as COMPARE
from fred_cli.columns.identify import COLUMNS as IDENTIFIED
from fred_cli.columns.reproduce import columns_of
from fred_cli.drawings.interconnect import COLOURS, draw_interconnect
from fred_cli.drawings.loads import colour_key
from fred_cli.output import plain
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.routing import route
from fred_hw.errors import InputError
from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from gen.design import generate
from gen.write import write_files
from perfmodel.derived import ALL_REDUCE_BANDWIDTH, Derived
from perfmodel.studies.reproduce import count

from .results import simulation_results
from .wafer import Wafer, gather

__all__ = ["build"]


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
    simulation = simulation_results(spec, results)
    design = generate(spec)
    strategy, flows = _shown_flows(spec)
    routing = route(flows, spec.ports, spec.middle)
    if routing.configuration is None:
        raise InputError(
            spec_source, "middle", f"must route {strategy}, which {spec.middle} do not"
        )
    wafer = gather()
    html = _template().render(
        design=design,
        spec=spec,
        simulation=simulation,
        strategy=strategy,
        flows=list(zip(flows, COLOURS * len(flows), strict=False)),
        drawing=draw_interconnect(routing.configuration, flows),
        word=f"{routing.configuration.pack():#x}",
        wafer=wafer,
        collectives=[
            (result, figure, isinstance(figure, Derived))
            for result, figure in zip(wafer.all_reduce, ALL_REDUCE_BANDWIDTH.values(), strict=True)
        ],
        compare_columns=COMPARE.titled,
        identified_columns=IDENTIFIED.titled,
        reproduce_columns=columns_of(moved=True).titled,
        charts=wafer.charts(),
        counts=count(wafer.reproduced),
        downloads={name: _download(table) for name, table in wafer.tables().items()},
        colours=colour_key(),
        plotly=get_plotlyjs(),
    )
    numbers = {"manifest": design.manifest, "simulation": simulation, **_numbers(wafer)}
    files = {"index.html": html, "report.json": json.dumps(numbers, indent=1) + "\n"}
    return write_files(files, folder)


def _numbers(wafer: Wafer) -> dict[str, Any]:
    """Return what the page shows of wafers as JSON has it."""
    return {
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
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("report.html.j2")


def _shown_flows(spec: SwitchSpec) -> tuple[Strategy, tuple[Flow, ...]]:
    """Return the data-parallel all-reduces of a strategy that uses most ports."""
    mp = 2 if spec.ports >= 4 else 1
    strategy = Strategy(mp=mp, dp=spec.ports // mp, pp=1)
    return strategy, phases(strategy, ports=spec.ports)["dp_all_reduce"]


def _download(table: str) -> str:
    """Return an address that holds a table, which is CSV."""
    return "data:text/csv;charset=utf-8," + quote(table)
