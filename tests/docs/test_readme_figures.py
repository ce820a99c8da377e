"""Figures of the README and counts of docs/explanation/fidelity.md agree with the model."""

import re

import pytest

from fred_cli.report.wafer import PAPER_SECTIONS, gather
from perfmodel.network.run import CollectiveResult, run_collective
from perfmodel.published import WAFER_BANDWIDTH
from perfmodel.studies.compare import compare
from perfmodel.studies.reproduce import count, reproduce
from perfmodel.studies.rtl import summaries
from perfmodel.studies.rtl_iteration import SHIPPED_ITERATIONS, load_iteration, simulated
from perfmodel.studies.rtl_shipped import SHIPPED_CYCLES, shipped_against_rtl
from perfmodel.studies.section import CLASSES, SECTIONS
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.request import read_requests

from .pages import ROOT

GIB = 2.0**30
VALIDATION = ROOT / "docs/explanation/validation.md"
CALIBRATED = ("resnet-152", "transformer-17b", "gpt-3")


def cells(row: str) -> list[str]:
    """Return the cells behind the name of a row of a table."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    [line] = [line for line in lines if line.startswith(f"| {row} |")]
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def all_reduce(name: str, protocol: ProtocolModel) -> CollectiveResult:
    fabric = parse_topology(name, protocol)
    return run_collective(fabric, "all_reduce", GIB, algorithm="published")


@pytest.mark.parametrize(
    ("row", "protocol"), [("simulated [TB/s]", "measured"), ("ideal protocol [TB/s]", "ideal")]
)
def test_effective_bandwidths(row: str, protocol: ProtocolModel) -> None:
    runs = [all_reduce(name, protocol).effective_bandwidth_bytes_per_s for name in FABRICS]
    assert cells(row) == [f"{run / 1e12:.3f}" for run in runs]
    assert cells("published [TB/s]") == [
        f"{one.value / 1e12:g}" for one in WAFER_BANDWIDTH.values()
    ]


def test_bus_bandwidths() -> None:
    runs = [all_reduce(name, "measured").bus_bandwidth_bytes_per_s for name in FABRICS]
    assert cells("bus bandwidth, simulated [TB/s]") == [f"{run / 1e12:.3f}" for run in runs]


@pytest.mark.slow
def test_speed_ups_of_fred_d() -> None:
    rows = compare(read_requests(("mesh:5x4", "fred-d"), CALIBRATED, compute="calibrated"))
    ours = [f"{row.speedup:.3f}" for row in rows if row.estimate.topology == "fred-d"]
    assert cells("FRED-D, predicted") == [*ours, "not identified"]


@pytest.mark.slow
@pytest.mark.xdist_group("report")  # which computes the same
def test_counts_of_published_figures() -> None:
    others = [name for name in SECTIONS if name not in PAPER_SECTIONS]
    counts = count([*gather().reproduced, *reproduce(others)])
    fidelity = (ROOT / "docs/explanation/fidelity.md").read_text("utf-8")
    told = re.findall(rf"^\| ({'|'.join(CLASSES)}) \|.*\| (\d+) \| (\d+) \|$", fidelity, re.M)
    assert told == [(name, f"{one.rows}", f"{one.ok}") for name, one in counts.items()]
    evidence = counts["predicted"]
    words = f"{evidence.ok} of {evidence.rows} predicted figures are within tolerance"
    for page in ("README.md", "docs/explanation/fidelity.md"):
        assert words in " ".join((ROOT / page).read_text("utf-8").split())


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED_ITERATIONS)
def test_iterations_in_rtl_and_in_the_model(name: str) -> None:
    record = load_iteration(name)
    iteration = simulated(record).iteration
    cycles, off = f"{record.cycles:,}", f"{100 * abs(iteration.time_s / record.time_s - 1):.1f} %"
    rtl, model = (f"{one.time_s * 1e6:.2f}" for one in (record, iteration))
    assert f" | {cycles} cycles, {off} apart (" in (ROOT / "README.md").read_text("utf-8")
    assert f" | {cycles} | {rtl} | {model} | {off} |" in VALIDATION.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.xdist_group("report")  # which computes the same
def test_counts_of_phases_in_rtl_and_in_the_model() -> None:
    told = {name: summaries(shipped_against_rtl(name).rows) for name in SHIPPED_CYCLES}
    rows = [
        f"| `{name}` | {one.what} | {one.rows} | {one.ok} | {_percent(one.worst, one.mean)} |"
        for name, found in told.items()
        for one in found
        if not one.what.endswith(" cycles")
    ]
    page = VALIDATION.read_text("utf-8")
    assert [row for row in page.splitlines() if re.match(r"\| `[\w-]+` \| \S+ \| \d", row)] == rows
    plane, drawn, stored, fred_a, fred_b, mesh, trees = (
        f"{found[-1].ok} of {found[-1].rows}" for found in told.values()
    )
    assert trees == "4 of 4"
    assert (
        f"| {plane}, {drawn} of strategies drawn at random, {stored} loads and stores, "
        f"{mesh} on the mesh, {fred_a} of FRED-A and {fred_b} of FRED-B within 3 % "
    ) in (ROOT / "README.md").read_text("utf-8")


def _percent(*shares: float) -> str:
    return " | ".join(f"{100 * one:.1f} %" for one in shares)
