"""Tests of fred_cli.report.page: what it refuses, what it writes, and the page in a browser."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from fred_cli.drawings.interconnect import COLOURS
from fred_cli.main import main
from testbench.sim.simulator import SIMULATORS
from tests.perfmodel.studies.rewrite import FIGURES

Run = Callable[..., tuple[int, str, str]]

ROOT = Path(__file__).parents[3]
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.xdist_group("report")  # what it says of the wafer is computed once
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

TEST = {"name": "all_is_well", "passed": True, "message": "", "wall_s": 0.1}
MEASURED = {
    "latency_cycles": 7,
    "throughput_flits_per_cycle": 1.0,
    "reconfiguration_cycles": 0,
    "flits_checked": 1234,
}
RUN = {"simulator": "icarus", "version": "12.0", "tests": [TEST], "measurements": MEASURED}
RESULTS: dict[str, Any] = {"name": "fred_m3_p4_fp16x4", "seed": 5, "failures": 0, "runs": [RUN]}

NO_RESULTS: dict[str, tuple[Any, str]] = {
    "list": ([1], "runs: must be what `fred sim --json` prints"),
    "other": ({"ports": 4}, "runs: must be what `fred sim --json` prints"),
    "no_runs": ({**RESULTS, "runs": []}, "runs: must be what `fred sim --json` prints"),
    "number": ({**RESULTS, "runs": [1]}, r"runs\.0: must be .*, not 1"),
    "no_seed": ({"name": "x", "runs": [RUN]}, "seed: is required and was not given"),
    "no_tests": (
        {**RESULTS, "runs": [{**RUN, "tests": []}]},
        r"runs\.0\.tests: must have 1 or more entries, not \[\]",
    ),
    "no_measurements": (
        {**RESULTS, "runs": [{k: v for k, v in RUN.items() if k != "measurements"}]},
        r"runs\.0\.measurements: is required and was not given",
    ),
    "latency": (
        {**RESULTS, "runs": [{**RUN, "measurements": {"latency_cycles": "7"}}]},
        r"runs\.0\.measurements\.latency_cycles: must be a valid integer, not '7'",
    ),
    "other_switch": (
        {**RESULTS, "name": "fred_m3_p8_fp16x2"},
        r"name: must be fred_m3_p4_fp16x4, not fred_m3_p8_fp16x2",
    ),
    "other_tests": (
        {**RESULTS, "runs": [RUN, {**RUN, "tests": [{**TEST, "name": "another"}]}]},
        r"runs: must be runs of the same tests",
    ),
}


@dataclass(frozen=True)
class Report:
    """A report of small-4, as the command wrote it."""

    folder: Path
    said: dict[str, Any]

    @property
    def page(self) -> Path:
        return self.folder / "out" / "index.html"

    @property
    def numbers(self) -> dict[str, Any]:
        return json.loads((self.folder / "out" / "report.json").read_text())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report that `fred report` co-simulates and writes."""
    folder = tmp_path_factory.mktemp("report")
    out = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["fred", "report", "--spec", "small-4", "-o", "out", "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 0
    return Report(folder, json.loads(out.getvalue()))


class Contents(HTMLParser):
    """What a page refers to, and how often each class stands inside each element with an id."""

    VOID = ("meta", "link", "br", "img", "input", "hr", "source")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.classes: dict[str, Counter[str]] = {}
        self.strokes: Counter[str] = Counter()
        self.style = ""
        self._open: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        links = ("src", "href", "xlink:href", "srcset", "action", "data", "poster")
        self.addresses += [given[name] for name in links if name in given]
        if tag not in self.VOID:
            self._open.append((tag, given.get("id") or given.get("class", "")))
        inside = {name for _, name in self._open if name}
        for name in inside:
            self.classes.setdefault(name, Counter()).update(given.get("class", "").split())
        if tag == "path" and "interconnect" in inside:
            self.strokes[given.get("stroke", "")] += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        while any(one == tag for one, _ in self._open) and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "style":
            self.style += data

    def network(self) -> list[str]:
        """Return what would be fetched from elsewhere."""
        local = ("data:", "#")
        styles = re.findall(r"@import[^;]*|url\((?!\s*[\"']?(?:data:|#))[^)]*", self.style)
        return [one for one in self.addresses if not one.startswith(local)] + styles


def opened(page: Path, profile: Path) -> tuple[str, list[str]]:
    """Return the page as Chromium holds it, and the lines of its console."""
    assert CHROMIUM is not None
    said = subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
            *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
            *("--disable-sync", f"--user-data-dir={profile}", "--virtual-time-budget=10000"),
            *("--enable-logging=stderr", "--v=0", "--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return said.stdout, [line for line in said.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("case", NO_RESULTS)
def test_results_that_are_none_are_refused(
    refused: Callable[..., str], place: Path, case: str
) -> None:
    data, message = NO_RESULTS[case]
    (place / "results.json").write_text(json.dumps(data))
    said = refused("report", "-o", "out", "--spec", "small-4", "--results", "results.json")
    assert re.fullmatch(rf"error: results\.json: {message}", said), said


def test_simulator_that_is_missing_is_named(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(SIMULATORS["icarus"]), "find", lambda _: None)
    said = refused("report", "-o", "out", "--spec", "small-4")
    assert re.fullmatch(r"error: --results: icarus is not installed; .*", said), said


@pytest.mark.slow
def test_failures_and_gaps_of_given_results_are_shown(fred: Run, place: Path) -> None:
    failed = {**TEST, "passed": False, "message": "flit 3 is <wrong> & late"}
    run = {**RUN, "tests": [failed], "measurements": {"flits_checked": 1234}}
    (place / "results.json").write_text(json.dumps({**RESULTS, "runs": [run]}))
    arguments = ("--spec", "small-4", "--results", "results.json", "-o", "out")
    status, out, err = fred("report", *arguments)
    assert (status, err) == (0, "")
    assert sorted(out.split()) == ["out/index.html", "out/report.json"]
    page = (place / "out" / "index.html").read_text(encoding="utf-8")
    assert '<td class="bad">FAILED: flit 3 is &lt;wrong&gt; &amp; late</td>' in page
    assert page.count("<b>not measured</b>") == 3
    assert "<b>unknown cycles</b>latency" in page
    assert "<b>1234</b>" in page


@pytest.mark.sim
@pytest.mark.slow
def test_files_are_those_listed_and_hold_the_numbers(report: Report) -> None:
    files = [report.folder / name for name in report.said["files"]]
    assert sorted(files) == sorted((report.folder / "out").iterdir())
    numbers = report.numbers
    assert numbers["simulation"]["failures"] == 0
    measured = numbers["simulation"]["runs"][0]["measurements"]["latency_cycles"]
    assert measured == numbers["manifest"]["latency_cycles"] == 7
    assert len(numbers["all_reduce"]) == 5 and len(numbers["compare"]) == 20
    assert len(numbers["compare_calibrated"]) == len(numbers["compare_weights"]) == 20
    assert [one["identified"] for one in numbers["identified"]] == [True, True, True, False]
    golden = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert [row["id"] for row in numbers["reproduce"]] == list(golden)
    predicted = [row["ok"] for row in numbers["reproduce"] if row["evidence"] == "predicted"]
    said = f"{sum(predicted)} of {len(predicted)} predicted figures are"
    for path in (report.page, ROOT / "README.md", ROOT / "docs/fidelity.md"):
        assert said in path.read_text(encoding="utf-8"), path
    page = report.page.read_text(encoding="utf-8")
    for result in numbers["all_reduce"]:
        assert f'<td class="n">{result["npu_bandwidth_bytes_per_s"] / 1e12:.3f}</td>' in page
    for row in numbers["reproduce"]:
        ideal = row["ideal"] if isinstance(row["ideal"], str) else f"{row['ideal']:.4g}"
        moved = "" if row["moved_percent"] is None else f"{row['moved_percent']:+z.2f}"
        assert f'</td><td class="n">{ideal}</td><td class="n">{moved}</td>' in page


@pytest.mark.sim
@pytest.mark.slow
def test_page_needs_no_network(report: Report) -> None:
    contents = Contents(report.page.read_text(encoding="utf-8"))
    assert contents.addresses[0] == "data:,"
    tables = contents.addresses[1:]
    assert len(tables) == 8
    assert all(address.startswith("data:text/csv;charset=utf-8,") for address in tables)
    assert contents.network() == []


def test_what_needs_the_network_is_noticed() -> None:
    contents = Contents(
        '<script src="https://cdn.example/plotly.js"></script><img src="data:,">'
        '<style>@import "x.css"; b { background: url(//example/a.png) }</style>'
    )
    assert contents.network() == [
        "https://cdn.example/plotly.js",
        '@import "x.css"',
        "url(//example/a.png",
    ]


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.browser
@needs_chromium
def test_charts_and_interconnect_are_drawn_and_the_console_is_silent(
    report: Report, tmp_path: Path
) -> None:
    dom, console = opened(report.page, tmp_path)
    assert console == []
    contents = Contents(dom)
    charts = {
        "chart-bandwidth": 4 * 5 * 2,
        "chart-time": 4 * 5 * 2,
        **dict.fromkeys(
            ("chart-calibrated", "chart-weights", "chart-first-principles"), 4 * (5 * 6 + 2)
        ),
        "chart-sweep-transformer-17b": 2 * 18 * 6,
        "chart-sweep-transformer-1t": 2 * 18 * 6,
    }
    for name, bars in charts.items():
        assert contents.classes[name]["main-svg"] >= 1, name
        assert contents.classes[name]["point"] == bars, name
    assert dom.count('<svg class="loads"') == 3 * 6
    assert len(re.findall(r'<div class="wide map"[^>]*hidden', dom)) == 3 * 6 - 1
    # MP2-DP2-PP1: two all-reduces of two ports each, two wires and then two again on either side
    assert [contents.strokes[colour] for colour in COLOURS[:3]] == [8, 8, 0]
    assert contents.network() == []


@pytest.mark.browser
@needs_chromium
def test_thrown_error_and_missing_chart_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "broken.html"
    page.write_text('<!doctype html><div id="chart"></div><script>throw Error("oh")</script>')
    dom, console = opened(page, tmp_path / "profile")
    assert len(console) == 1 and "Uncaught Error: oh" in console[0]
    assert Contents(dom).classes["chart"]["main-svg"] == 0


@pytest.mark.sim
@pytest.mark.slow
def test_tables_hold_the_numbers_of_the_charts(report: Report) -> None:
    contents = Contents(report.page.read_text(encoding="utf-8"))
    tables = [
        list(csv.DictReader(StringIO(unquote(address.partition(",")[2]))))
        for address in contents.addresses[1:]
    ]
    # The chart of bandwidths has some of the same rows.
    reproduced = max((table for table in tables if "moved_percent" in table[0]), key=len)
    assert [row["id"] for row in reproduced] == [row["id"] for row in report.numbers["reproduce"]]
    for row, number in zip(reproduced, report.numbers["reproduce"], strict=True):
        moved = number["moved_percent"]
        assert (row["ideal"], row["moved_percent"]) == (
            str(number["ideal"]),
            "" if moved is None else str(moved),
        )
    loads = next(table for table in tables if "utilisation" in table[0])
    assert {row["fabric"] for row in loads} == {"mesh:5x4", "fred-a", "fred-d"}
    assert max(float(row["utilisation"]) for row in loads) <= 1 + 1e-9
