"""Tests of fred_cli.report.page: what it refuses and what it writes."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from html.parser import HTMLParser
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from fred_cli.report.wafer import PAPER_SECTIONS
from studies.rtl_iteration import SHIPPED_ITERATIONS, load_iteration
from studies.section import SECTIONS
from testbench.sim.simulator import SIMULATORS
from tests.fred_cli.fred import Fred
from tests.studies.rewrite import FIGURES

from .conftest import Report, written

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.xdist_group("report")  # what it says of the wafer is computed once

FRED_16 = """kind: fred
l1: [{count: 4, npus: 4, io_controllers: 4, record: l1-12}]
l2_record: l2-10
l1_l2_bytes_per_s: 6.0e+12
in_network: true
"""
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


class Contents(HTMLParser):
    """What a page refers to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.style = ""
        self._tag = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        given = {name: value or "" for name, value in attrs}
        links = ("src", "href", "xlink:href", "srcset", "action", "data", "poster")
        self.addresses += [given[name] for name in links if name in given]

    def handle_data(self, data: str) -> None:
        if self._tag == "style":
            self.style += data

    def tables(self) -> list[list[dict[str, str]]]:
        """Return the tables that can be saved."""
        start = "data:text/csv;charset=utf-8,"
        texts = [one.removeprefix(start) for one in self.addresses if one.startswith(start)]
        return [list(csv.DictReader(StringIO(unquote(text)))) for text in texts]

    def network(self) -> list[str]:
        """Return what would be fetched from elsewhere."""
        local = ("data:", "#")
        styles = re.findall(r"@import[^;]*|url\((?!\s*[\"']?(?:data:|#))[^)]*", self.style)
        return [one for one in self.addresses if not one.startswith(local)] + styles


@pytest.mark.slow_after_first
@pytest.mark.parametrize("case", NO_RESULTS)
def test_results_that_are_none_are_refused_before_all_that_takes_long(
    refused: Callable[..., str], place: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fred_cli.report.page.study", None)
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
def test_failures_and_gaps_of_given_results_are_shown(fred: Fred, place: Path) -> None:
    failed = {**TEST, "passed": False, "message": "flit 3 is <wrong> & late"}
    run = {**RUN, "tests": [failed], "measurements": {"flits_checked": 1234}}
    (place / "results.json").write_text(json.dumps({**RESULTS, "runs": [run]}))
    out = fred.out("report", "--spec", "small-4", "--results", "results.json", "-o", "out")
    names = ("index.html", "report.json")
    assert sorted(out.split()) == [f"out/{name}" for name in names]
    page = (place / "out" / "index.html").read_text(encoding="utf-8")
    assert '<td class="bad">FAILED: flit 3 is &lt;wrong&gt; &amp; late</td>' in page
    assert page.count("<b>not measured</b>") == 3
    assert "<b>1234</b>" in page


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["report", "evidence"])
def test_files_are_those_listed_and_hold_the_numbers(
    request: pytest.FixtureRequest, kind: str
) -> None:
    report: Report = request.getfixturevalue(kind)
    files = [report.folder / name for name in report.said["files"]]
    assert sorted(files) == sorted((report.folder / "out").iterdir())
    assert len(files) == {"report": 2, "evidence": 3}[kind]
    numbers = report.numbers
    assert numbers["simulation"]["failures"] == 0
    measured = numbers["simulation"]["runs"][0]["measurements"]["latency_cycles"]
    assert measured == numbers["manifest"]["latency_cycles"] == 7
    assert ("reproduce" in numbers) == (kind == "evidence")


@pytest.mark.sim
@pytest.mark.slow
def test_page_says_when_with_what_and_by_which_command_it_was_made(report: Report) -> None:
    made = report.numbers["made"]
    assert made["command"] == "fred report -o out --json --spec small-4"
    assert made["version"] == version("fred-hw")
    assert abs((date.fromisoformat(made["day"]) - date.today()).days) <= 1
    words = f"Made on {made['day']} with fred-hw {made['version']}: <code>{made['command']}</code>"
    assert words in report.text


@pytest.mark.sim
@pytest.mark.slow
def test_page_has_the_price_of_the_records(report: Report) -> None:
    rows = {row["what"]: row for row in report.numbers["hardware"]}
    areas = rows["area, total"], rows["area, total, per link of an NPU"]
    npu, link = (f"{row['fred'] / row['mesh']:.1f} times" for row in areas)
    *_, cost = re.findall(r'<p class="answer">(.*)</p>', report.text)
    assert f"{npu} the area of the mesh per NPU" in cost
    assert f"({areas[0]['fred']:,.0f} and {areas[0]['mesh']:,.0f} µm²)" in cost
    assert f"{link} per link of an NPU" in cost and "1 INT8 lane" in cost
    assert cost.endswith("Memories, wires and wide adders are excluded.")


def words_of(html: str) -> str:
    """Return the text of a page, without scripts and styles."""
    return re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", html)


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["report", "evidence"])
def test_units_are_si(request: pytest.FixtureRequest, kind: str) -> None:
    text = words_of(request.getfixturevalue(kind).text)
    assert "µm²" in text
    assert re.findall(r"(?<![\w.])(?:us|um2|um\^2)(?![\w.])", text) == []


@pytest.mark.sim
@pytest.mark.slow
def test_page_without_evidence_names_where_it_is(report: Report, evidence: Report) -> None:
    for command in ("fred reproduce", "fred reproduce --rtl", "fred report --evidence"):
        assert f"<code>{command}</code>" in report.text
    assert "predicted figures are" not in report.text
    assert "<code>fred report --evidence</code>" not in evidence.text


@pytest.mark.sim
@pytest.mark.slow
def test_evidence_holds_the_published_figures(evidence: Report) -> None:
    report, numbers = evidence, evidence.numbers
    assert len(numbers["all_reduce"]) == 5 and len(numbers["compare"]) == 20
    assert len(numbers["compare_calibrated"]) == len(numbers["compare_weights"]) == 20
    assert [one["identified"] for one in numbers["identified"]] == [True, True, True, False]
    golden = json.loads(FIGURES.read_text(encoding="utf-8"))
    shown = [row["id"] for row in numbers["reproduce"]]
    of_fred = {subject for name in PAPER_SECTIONS for subject in SECTIONS[name].subjects}
    assert shown == [name for name in golden if name.partition("/")[0] in of_fred]
    predicted = [row["ok"] for row in numbers["reproduce"] if row["evidence"] == "predicted"]
    counted = f"{sum(predicted)} of {len(predicted)}"
    assert f"{counted} predicted figures are" in report.text
    for name, said in (
        ("README.md", f"Of the FRED paper's figures, {counted} are"),
        (
            "docs/explanation/fidelity.md",
            f"the FRED paper (Rashidi et al., arXiv 2406.19580) | {counted},",
        ),
    ):
        words = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert said in words, name
    page = report.text
    for result in numbers["all_reduce"]:
        name = f"bandwidth/wafer/{result['topology']}"
        row = next(row for row in numbers["reproduce"] if row["id"] == name)
        sent = 1.0 if result["topology"] in ("fred-b", "fred-d") else 2 * 19 / 20
        rate = sent * result["size_bytes"] / result["time_s"]
        assert rate == pytest.approx(row["model"] * 1e12, rel=1e-9)  # one quantity, one value
        assert f'<td class="n">{row["model"] * 1e3:.0f}</td>' in page
    for row in numbers["reproduce"]:
        ideal = row["ideal"] if isinstance(row["ideal"], str) else f"{row['ideal']:.4g}"
        moved = "" if row["moved_percent"] is None else f"{row['moved_percent']:+z.2f}"
        assert f'</td><td class="n">{ideal}</td><td class="n">{moved}</td>' in page


@pytest.mark.sim
@pytest.mark.slow
def test_rtl_is_compared_with_the_model_and_has_its_source(evidence: Report) -> None:
    report = evidence
    for name, one in zip(SHIPPED_ITERATIONS, report.numbers["rtl_iterations"], strict=True):
        record = load_iteration(name)
        assert one["cycles"] == record.cycles
        assert one["ratio"] == pytest.approx(one["model_s"] / one["rtl_s"])
        said = f"{record.cycles:,} cycles or {one['rtl_s'] * 1e6:.2f} µs in RTL"
        assert said in report.text and f"<code>{record.command}</code>" in report.text
    rows = report.numbers["rtl_phases"]
    good = sum(row["ok"] for row in rows)
    assert f"{good} of {len(rows)} phases are within tolerance" in report.text


@pytest.mark.sim
@pytest.mark.slow
def test_page_has_the_fastest_algorithm_of_each_collective(evidence: Report) -> None:
    report = evidence
    fastest: dict[tuple[object, ...], dict[str, Any]] = {}
    for row in report.numbers["algorithms"]:  # the first of those that are equally fast
        if row["on_topology"]:
            fastest.setdefault((row["pattern"], row["size_bytes"], row["topology"]), row)
    assert len(fastest) == 90
    for row in fastest.values():
        assert f'{row["algorithm"]}</td><td class="n">{row["time_s"] * 1e6:,.2f}' in report.text
    assert "cheaper network catches up in 7 of 15 collectives" in report.text
    assert "all_gather, 1 GiB, on torus:5x4 (themis)" in report.text


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "tables"), [("report", 5), ("evidence", 14)])
def test_page_needs_no_network_and_is_small(
    request: pytest.FixtureRequest, kind: str, tables: int
) -> None:
    report: Report = request.getfixturevalue(kind)
    contents = Contents(report.text)
    assert len(contents.tables()) == tables
    assert contents.network() == []
    assert report.page.stat().st_size < 6e6


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
def test_tables_hold_the_numbers_of_the_charts(evidence: Report) -> None:
    report = evidence
    tables = Contents(report.text).tables()
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
    assert {row["fabric"] for row in loads} == {"mesh:5x4", "fred-d"}
    assert max(float(row["utilisation"]) for row in loads) <= 1 + 1e-9


@pytest.mark.sim
@pytest.mark.slow
def test_published_figures_are_folded_into_subjects_that_count_them(evidence: Report) -> None:
    report = evidence
    figures = r'<details class="figures"><summary>(.*?)</summary>(.*?)</details>'
    groups = re.findall(figures, report.text, re.DOTALL)
    titles = [said.partition(" <span")[0] for said, _ in groups]
    assert len(titles) == len(set(titles)) > 5 and "Speed-ups of whole iterations" in titles
    total: Counter[tuple[str, bool]] = Counter()
    for said, table in groups:
        rows = re.findall(r"<tr>(?:(?!</tr>).)*<td.*?</tr>", table, re.DOTALL)
        shown: Counter[tuple[str, bool]] = Counter()
        for row in rows:
            kind = re.findall(r'<span class="class ([\w-]+)">', row)
            shown[kind[0], '<td class="good">' in row] += 1
        for ok, of, kind in re.findall(r">(\d+) of (\d+) ([\w-]+)</span>", said):
            assert int(ok) == shown[kind, True], said
            assert int(of) == shown[kind, True] + shown[kind, False], said
        total += shown
    rows = report.numbers["reproduce"]
    assert total == Counter((row["evidence"], row["ok"]) for row in rows)


@pytest.mark.sim
@pytest.mark.slow
def test_answer_names_the_winner_and_what_was_assumed(evidence: Report) -> None:
    best = {
        row["workload"]: row["speedup"]
        for row in evidence.numbers["compare_calibrated"]
        if row["topology"] == "fred-d"
    }
    first, second, third, _ = re.findall(r'<p class="answer">(.*)</p>', evidence.text)
    assert first.startswith("FRED-D wins on all 4 workloads: compared with the mesh it is ")
    assert all(f"{speedup:.2f} times as fast on {name}" in first for name, speedup in best.items())
    times = {row["topology"]: row["iteration_time_s"] for row in evidence.numbers["iterations"]}
    assert f"{times['fred-d'] * 1e3:.3g} ms on FRED-D and" in second
    assert third.startswith("Assumption: one number per workload")


CHAPTERS = {
    "question": ["fred", "summary"],
    "price": ["price"],
    "training": ["iteration", "timeline", "links", "explorer", "roofline"],
    "switch": ["switch", "cosimulation"],
    "assumptions": ["assumptions"],
    "evidence": ["evidence"],
    "more": ["hardware", "rtl", "paper", "figures", "algorithms"],
}
PUBLISHED = ("question", "price", "training", "switch", "assumptions", "verification", "evidence")
OWN = (
    "question",
    "training",
    "assumptions",
    "appendix",
    "switch",
    "price",
    "verification",
    "evidence",
)


def sections(html: str) -> list[str]:
    """Return the sections of a page, which its navigation lists."""
    found = re.findall(r'<section id="([a-z]+)">', html)
    assert re.findall(r'<li><a href="#([a-z]+)">', html) == found
    return found


def expected(*names: str) -> list[str]:
    return [one for name in names for one in CHAPTERS.get(name, [name])]


@pytest.mark.sim
@pytest.mark.slow
def test_page_begins_with_fred_the_answer_and_its_price(report: Report, evidence: Report) -> None:
    assert sections(report.text) == expected(*PUBLISHED)
    assert sections(evidence.text) == expected(*PUBLISHED, "more")
    assert report.text.count('<svg class="idea"') == 1


@pytest.mark.sim
@pytest.mark.slow
def test_other_hardware_than_the_own_wafer_is_in_an_appendix(report: Report, place: Path) -> None:
    (place / "wafer.yaml").write_text(FRED_16)
    (place / "results.json").write_text(json.dumps(report.results))
    arguments = ("--topology", "wafer.yaml", "--workload", "own.yaml", "--strategy", "MP2-DP4-PP2")
    own = written(place, "--spec", "small-4", "--results", "results.json", *arguments)
    assert sections(own.text) == expected(*OWN)
    about, _, appendix = own.text.partition('<section id="appendix">')
    assert "the switch small-4" in appendix and "the published wafers of twenty NPUs" in appendix
    words = words_of(about.partition('<section id="fred">')[2])
    for other in ("small-4", "fred-d", "FRED-D", "mesh:5x4", "INT8"):
        assert other not in words
    *_, cost = re.findall(r'<p class="answer">(.*)</p>', own.text)
    assert cost.startswith("Price: the area of mesh:4x4 and wafer has not been synthesized.")
    rows = own.numbers["iterations"]
    assert [row["topology"] for row in rows] == ["mesh:4x4", "wafer.yaml"]
    assert {row["strategy"] for row in rows} == {"MP2-DP4-PP2"}
    assert {row["compute_model"] for row in rows} == {"first-principles"}
    assert "<h1>own on mesh:4x4 and wafer.yaml</h1>" in own.text
    assert "DP all-reduce of MP2-DP4-PP2 on wafer.yaml" in own.text
    strategies = next(t for t in Contents(own.text).tables() if "memory" in t[0])
    assert {row["fabric"] for row in strategies} == {"mesh:4x4", "wafer.yaml"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--topology", "torus"),
            r"--topology: must be .* or a path ending in \.yaml or \.txt, not 'torus'",
        ),
        (("--workload", "bert"), r"--workload: must be .* or a path ending in \.yaml, not 'bert'"),
        (("--strategy", "MP2"), r"--strategy: must .*, not 'MP2'"),
        (("--strategy", "MP3-DP3-PP3"), r"--strategy: must fit the 20 NPUs of .*, not need 27 .*"),
        (("--compute", "magic"), r"--compute: must be one of .*, not 'magic'"),
        (
            ("--topology", "mesh:2x2", "--strategy", "MP1-DP1-PP4", "--least-npus", "5"),
            r"--least-npus: must be 1 to 4, not 5",
        ),
    ],
    ids=["topology", "workload", "strategy", "large strategy", "compute", "least NPUs"],
)
def test_questions_that_are_none_are_refused(
    refused: Callable[..., str], arguments: tuple[str, ...], message: str
) -> None:
    said = refused("report", "-o", "out", "--spec", "small-4", *arguments)
    assert re.fullmatch(rf"error: {message}", said), said
