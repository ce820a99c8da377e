"""Figures of the README and counts of docs/explanation/fidelity.md agree with the model."""

import math
import re
from collections.abc import Mapping
from functools import cache
from statistics import fmean

import pytest

from fred_cli.hardware_table import hardware_rows
from fred_cli.report.wafer import PAPER_SECTIONS, gather
from perfmodel.network.run import CollectiveResult, run_collective
from perfmodel.published import WAFER_BANDWIDTH
from perfmodel.switch_timing.record import SHIPPED, ProtocolModel, load_record
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.compare import compare
from perfmodel.training.request import read_requests
from studies.algorithms import compare_algorithms, winners
from studies.reproduce import Count, count, reproduce
from studies.rtl import summaries
from studies.rtl_iteration import (
    SHIPPED_ITERATIONS,
    Lane,
    load_iteration,
    model_lanes,
    rtl_lanes,
    simulated,
)
from studies.rtl_shipped import SHIPPED_CYCLES, shipped_against_rtl
from studies.section import CLASSES, SECTIONS, ReproduceRow

from .pages import ROOT

GIB = 2.0**30
VALIDATION = ROOT / "docs/explanation/validation.md"
README = " ".join((ROOT / "README.md").read_text("utf-8").split())
OTHER_SECTIONS = ("themis", "multitree", "endpoint")
CALIBRATED = ("resnet-152", "transformer-17b", "gpt-3")


@cache
def published() -> dict[str, tuple[ReproduceRow, ...]]:
    """Return the rows of each section of published figures, found once."""
    subjects = {subject: name for name in PAPER_SECTIONS for subject in SECTIONS[name].subjects}
    found: dict[str, tuple[ReproduceRow, ...]] = {
        name: tuple(reproduce([name])) for name in SECTIONS if name not in PAPER_SECTIONS
    }
    for row in gather().reproduced:  # which the report's tests need as well
        name = subjects[row.id.partition("/")[0]]
        found[name] = (*found.get(name, ()), row)
    return found


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
    found = published()
    counts = count(row for rows in found.values() for row in rows)
    fidelity = (ROOT / "docs/explanation/fidelity.md").read_text("utf-8")
    told = re.findall(rf"^\| ({'|'.join(CLASSES)}) \|.*\| (\d+) \| (\d+) \|$", fidelity, re.M)
    assert told == [(name, f"{one.rows}", f"{one.ok}") for name, one in counts.items()]
    evidence = counts["predicted"]
    words = f"{evidence.ok} of {evidence.rows} predicted figures are within tolerance"
    for page in ("README.md", "docs/explanation/fidelity.md"):
        assert words in " ".join((ROOT / page).read_text("utf-8").split())
    paper, others, machines, congestion = (
        count(row for name in names for row in found[name])["predicted"]
        for names in (PAPER_SECTIONS, OTHER_SECTIONS, ("machines",), ("congestion-control",))
    )
    assert (
        f"Of the FRED paper's figures, {paper.ok} of {paper.rows} are within tolerance. "
        f"Of the figures of Themis, MultiTree and ACE, {others.ok} of {others.rows} are. "
        f"Of the measurements of GPU clusters, {machines.ok} of {machines.rows} are. "
        "Of three statements on congestion control, one holds. "
    ) in README
    assert congestion == Count(3, 1)
    assert sum(one.rows for one in (paper, others, machines, congestion)) == evidence.rows


@pytest.mark.slow
@pytest.mark.xdist_group("report")  # which computes the same
def test_speed_up_from_first_principles_and_the_share_of_the_peak() -> None:
    largest = max(row.speedup for row in gather().first_principles)
    assert f"no fitted number, the largest speed-up is {largest:.2f} " in README
    shares = [
        share
        for row in gather().calibrated
        if (share := row.estimate.peak_share) and row.estimate.workload in CALIBRATED
    ]
    assert len(shares) == len(CALIBRATED) * len(FABRICS)
    least, most = min(shares), max(shares)
    assert f"need compute at {least:.0f} to {most:.0f} times the peak of the NPU" in README


def test_payload_share_of_the_links() -> None:
    records = (load_record(name).record.switch for name in SHIPPED)
    shares = {f"{100 * one.payload_share:.1f} %" for one in records if one is not None}
    assert [f"left {one} of the link rate for payload" in README for one in shares] == [True]


@pytest.mark.slow
def test_torus_with_the_best_algorithms() -> None:
    fabrics = [parse_topology(name) for name in ("torus:5x4", "fred-d")]
    patterns = ("all_reduce", "reduce_scatter", "all_gather")
    found = winners(compare_algorithms(fabrics, patterns, [GIB], [None]))
    ratios: dict[str, float] = {}
    for pattern in patterns:
        torus, fred = (row for row in found if row.pattern == pattern)
        assert torus.wires_bytes_per_s / fred.wires_bytes_per_s == 0.25
        ratios[pattern] = torus.time_s / fred.time_s
    assert (
        f"on FRED-D is {ratios.pop('all_reduce'):.1f} times as fast as on a torus. "
        "The torus has a quarter of the wires,"
    ) in README
    within = math.ceil(100 * (max(ratios.values()) - 1))
    assert f"In reduce-scatter and all-gather the torus is within {within} % of FRED-D" in README


@pytest.mark.slow
@pytest.mark.xdist_group("report")  # which computes the same
def test_errors_of_measured_machines() -> None:
    a100, h100 = (
        [
            100 * abs(row.ratio - 1)
            for row in published()["machines"]
            if row.id.startswith(f"machines/{name}/iteration/")
            and row.evidence == evidence
            and row.ratio is not None
        ]
        for name, evidence in (("a100", "calibrated"), ("h100", "predicted"))
    )
    assert len(a100) == len(h100) == 8
    assert (
        f"with a mean error of {fmean(a100):.1f} % and a worst error of {max(a100):.1f} %. "
    ) in README
    assert f"predicts eight others with a mean error of {fmean(h100):.1f} % " in README


def test_price_in_area() -> None:
    rows = {row.what: row.fred / row.mesh for row in hardware_rows()}
    assert f"{rows['area, total']:.0f}" == "6" and "take about six times the logic area" in README
    link = rows["area, total, per link of an NPU"]
    assert f"Per link of an NPU, they take {link:.1f} times the area." in README


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED_ITERATIONS)
def test_iterations_in_rtl_and_in_the_model(name: str) -> None:
    record = load_iteration(name)
    iteration = simulated(record).iteration
    cycles, off = f"{record.cycles:,}", f"{100 * abs(iteration.time_s / record.time_s - 1):.1f} %"
    rtl, model = (f"{one.time_s * 1e6:.2f}" for one in (record, iteration))
    assert f" | {cycles} cycles, {off} apart (" in (ROOT / "README.md").read_text("utf-8")
    assert f" | {cycles} | {rtl} | {model} | {off} |" in VALIDATION.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "fabric"), [("iteration-wafer-20", "plane"), ("iteration-mesh-5x4", "mesh")]
)
def test_all_reduces_are_active_as_long_as_printed(name: str, fabric: str) -> None:
    record = load_iteration(name)
    model = model_lanes(simulated(record).iteration)
    rtl = rtl_lanes(record, {npu: lane.stage for npu, lane in model.items()})
    active = [_least_active_us(one, kind) for kind in ("mp", "dp") for one in (model, rtl)]
    row = f"| {fabric} | {' | '.join(f'{one:.1f}' for one in active)} |"
    assert row in VALIDATION.read_text("utf-8")


def _least_active_us(lanes: Mapping[int, Lane], kind: str) -> float:
    """Return how long all-reduces of a kind take at the NPU of the first stage that waits least."""
    return 1e6 * min(
        sum(span.end_s - span.begin_s for span in lane.spans if span.kind == kind)
        for lane in lanes.values()
        if lane.stage == 0
    )


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
        f"| {plane} phases on a plane, {drawn} of strategies drawn at random, "
        f"{stored} loads and stores; {mesh} on the mesh, {fred_a} of FRED-A and "
        f"{fred_b} of FRED-B. Tolerance: 3 % "
    ) in README


def _percent(*shares: float) -> str:
    return " | ".join(f"{100 * one:.1f} %" for one in shares)
