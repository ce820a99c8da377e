"""The report in headless Chromium: what is seen, what the keyboard reaches, what axe-core finds."""

import json
import re
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from fred_cli.report.hardware import gather_hardware
from tests.chromium import check_keyboard

from .conftest import Browser, Report, written

pytestmark = [
    pytest.mark.xdist_group("report"),
    pytest.mark.browser,
    pytest.mark.sim,
    pytest.mark.slow,
]

VIEWS = [(width, scheme) for width in (400, 1400) for scheme in ("light", "dark")]
BARS = {"chart-iteration": 5 * 7 + 2}
EVIDENCE_BARS = {
    "chart-bandwidth": 4 * 5 * 2,
    "chart-time": 4 * 5 * 2,
    **dict.fromkeys(
        ("chart-calibrated", "chart-weights", "chart-first-principles"), 4 * (5 * 7 + 2)
    ),
    "chart-sweep-transformer-17b": 2 * 18 * 7,
    "chart-sweep-transformer-1t": 2 * 18 * 7,
}


def words(view: tuple[int, str]) -> str:
    return f"{view[0]} px, {view[1]}"


UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
OVERLAPS = """() => {
  const clipped = (rect, node) => {
    let [left, top, right, bottom] = [rect.left, rect.top, rect.right, rect.bottom];
    for (let one = node; one; one = one.parentElement) {
      if (getComputedStyle(one).overflowX === "visible") continue;
      const box = one.getBoundingClientRect();
      [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
      [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
    }
    return { left, top, right, bottom };
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, option, .skip")) continue;
    if (!parent.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const box = clipped(rect, parent);
      if (box.right - box.left > 2 && box.bottom - box.top > 2) found.push([box, node]);
    }
  }
  found.sort((a, b) => a[0].top - b[0].top);
  const pairs = [];
  found.forEach(([a, first], place) => {
    for (const [b, second] of found.slice(place + 1)) {
      if (b.top >= a.bottom - 3) break;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (first !== second && across > 3 && down > 3) pairs.push(`${first.data} | ${second.data}`);
    }
  });
  return pairs;
}"""


PAGES = [(page, *view) for page in ("report", "evidence") for view in VIEWS]


@pytest.fixture(scope="module", params=PAGES, ids=lambda one: f"{one[0]}, {words(one[1:])}")
def view(request: pytest.FixtureRequest, browser: Browser) -> Iterator[tuple[Any, list[str]]]:
    name, *how = request.param
    with browser.page(request.getfixturevalue(name).page, *how) as opened:
        yield opened


def test_nothing_overlaps_or_leaves_the_window_and_the_console_is_silent(
    view: tuple[Any, list[str]],
) -> None:
    page, said = view
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(OVERLAPS) == []
    page.evaluate(UNFOLD)
    page.wait_for_function("charts.drawnAll()")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(OVERLAPS) == []
    assert said == []


# What is wider than its place, and does not say that it scrolls; and what says so and does not.
CLIPPED = """() => {
  const wider = (one) => (
    one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1
  );
  const scrolls = (one) => getComputedStyle(one).overflowX !== "visible";
  const left = (one) => !one.closest("svg, .plot, select");
  const shown = [...document.querySelectorAll("main *")].filter((one) => one.checkVisibility());
  const cut = shown.filter((one) => wider(one) && scrolls(one) && left(one));
  const told = (one) => getComputedStyle(one, "::before").content.includes("scroll");
  return [
    ...cut.filter((one) => !told(one)), ...shown.filter((one) => told(one) && !cut.includes(one)),
  ].map((one) => one.dataset.label ?? one.outerHTML.slice(0, 80));
}"""


def test_what_is_clipped_says_that_it_scrolls(view: tuple[Any, list[str]]) -> None:
    page = view[0]
    page.evaluate(UNFOLD)
    page.wait_for_function("charts.drawnAll()")
    page.wait_for_timeout(200)  # until the observer of sizes has run
    assert page.evaluate(CLIPPED) == []
    assert page.locator("[data-cue]").count() > 0


def test_axe_finds_nothing(view: tuple[Any, list[str]]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = view[0]
    page.evaluate(UNFOLD)
    page.wait_for_function("charts.drawnAll()")
    # Contrast is most of the time, and of all but the navigation the same at any width.
    narrow = page.viewport_size["width"] == min(VIEWS)[0]
    most: dict[str, Any] = {"resultTypes": ["violations"]}
    most["rules"] = {"color-contrast": {"enabled": narrow}}
    contrast = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
    for where, how in ((None, most), ("nav", contrast)):
        results = Axe().run(page, where and {"include": [[where]]}, how)
        assert results.violations_count == 0, results.generate_report()
    assert results.response["passes"], "axe has looked at the navigation"


def test_first_paint_is_quick(report: Report, browser: Browser) -> None:
    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    times: list[float] = []
    while len(times) < 5 and min(times, default=inf) >= 1500:  # [ms]; other tests run meanwhile
        with browser.page(report.page, 1280, drawn=False) as (page, _):
            times.append(page.wait_for_function(paint).json_value())
    assert min(times) < 1500, times


def test_keyboard_walks_through_the_page(view: tuple[Any, list[str]]) -> None:
    check_keyboard(view[0])


@pytest.fixture(scope="module")
def wide(report: Report, browser: Browser) -> Iterator[Any]:
    with browser.page(report.page, 1280) as (page, _):
        yield page


def drawn(page: Any) -> dict[str, int]:
    """Return how many marks each chart has."""
    return {
        one.get_attribute("id"): one.locator(".main-svg .point").count()
        for one in page.locator("figure.chart").all()
    }


def test_charts_are_drawn(wide: Any) -> None:
    marks = drawn(wide)
    assert {name for name, points in marks.items() if not points} == set()
    assert {name: marks[name] for name in BARS} == BARS
    assert wide.locator("#chart-roofline .main-svg .point").count() >= 8
    assert wide.locator("svg.loads").count() == 2 * 6
    assert wide.locator(".map:visible").count() == 1


def test_charts_of_the_evidence_are_drawn(evidence: Report, browser: Browser) -> None:
    found = gather_hardware()
    spans = sum(
        len(lanes[npu].spans)
        for one in found.iterations
        for lanes in (one.rtl, one.model)
        for npu in one.shown
    )
    more = {"chart-rtl-iteration": spans, "chart-rtl-phases": 2 * len(found.rows)}
    with browser.page(evidence.page, 1280) as (page, _):
        marks = drawn(page)
    assert {name for name, points in marks.items() if not points} == set()
    every = {**BARS, **EVIDENCE_BARS, **more}
    assert {name: marks[name] for name in every} == every


def test_links_are_walked_by_arrow_keys(wide: Any) -> None:
    wide.locator(".map:visible line[tabindex='0']").focus()
    said = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home"):
        wide.keyboard.press(key)
        label = wide.evaluate("document.activeElement.getAttribute('aria-label')")
        assert wide.locator("#link-status").inner_text() == f"{label} of the time occupied."
        said.append(label)
    assert said[0] == said[2] != said[1] and said[3].endswith(": 0.0%")
    wide.select_option("#fabric", "fred-d")
    wide.select_option("#phase", "PP multicast of MP3-DP3-PP2")
    status = wide.locator("#link-status").inner_text()
    assert status.startswith("Busiest link: ") and "100.0%" in status


def rows_of(page: Any) -> list[list[str]]:
    script = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    return page.eval_on_selector_all("#explorer-table tbody tr", script)


def test_strategies_are_sorted_and_filtered(wide: Any) -> None:
    assert len(rows_of(wide)) == 20
    wide.select_option("[name=most]", "100000")
    rows = rows_of(wide)
    every = len(rows)
    assert every == len({(row[1], row[2]) for row in rows}) == 2 * 39
    fits = [row[-1].startswith("fits") for row in rows]
    assert fits == sorted(fits, reverse=True)
    assert [row[0] for row in rows[: sum(fits)]] == [str(n + 1) for n in range(sum(fits))]
    times = [float(row[3]) for row in rows[: sum(fits)]]
    assert times == sorted(times)
    assert wide.locator("#chart-explorer .main-svg .point").count() == every * 7
    wide.select_option("[name=fits]", "no")
    assert len(rows_of(wide)) == every - sum(fits)
    wide.select_option("[name=fits]", "")
    wide.select_option("[name=fabric]", "mesh:5x4")
    wide.fill("[name=text]", "mp20-")
    assert [row[1:3] for row in rows_of(wide)] == [["MP20-DP1-PP1", "mesh:5x4"]]
    wide.fill("[name=text]", "")
    wide.select_option("[name=sort]", "strategy")
    names = [row[1] for row in rows_of(wide) if row[-1].startswith("fits")]
    assert names == sorted(names)
    wide.locator("#explorer-controls").evaluate("(form) => form.reset()")


def test_timeline_zooms_and_flits_step(wide: Any) -> None:
    whole = wide.locator("#timeline-status").inner_text()
    wide.locator("[data-zoom=in]").press("Enter")
    wide.locator("[data-zoom=right]").press("Enter")
    assert wide.locator("#timeline-status").inner_text() != whole
    wide.locator("[data-zoom=all]").press("Enter")
    assert wide.locator("#timeline-status").inner_text() == whole
    assert wide.locator("#timeline-view rect title").count() > 100
    status = wide.locator("#flits-status")
    assert status.inner_text().startswith("Cycle 0: flit 1 in stage 1 of 3, 1, 2, 1, 2 on the")
    step, seen = wide.locator("[data-step='1']"), []
    for _ in range(7):
        seen.append(wide.locator("g.busy").count())
        step.press("Enter")
    # Two R, an RD and two D; the sums of two flits are inside or out of every one.
    assert "flit 1 is on all outputs as 6" in status.inner_text()
    assert min(seen) > 0
    wide.locator("[data-step='-1']").press("Enter")
    assert status.inner_text().startswith("Cycle 6:")


@pytest.fixture(scope="module")
def shared(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return a report of a workload with an expert group of all its NPUs, and of 64 NPUs."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "results.json").write_text(json.dumps(report.results))
    fabrics = ("--topology", "mesh:5x4", "--topology", "mesh:8x8")
    results = ("--spec", "small-4", "--results", "results.json")
    return written(folder, *results, *fabrics, "--workload", "dlrm")


SHOWN = """() => {
  const copy = document.body.cloneNode(true);
  copy.querySelectorAll("script").forEach((one) => one.remove());
  return copy.innerHTML;
}"""
LABELS = """() => [...document.querySelectorAll("svg.loads")].map((svg) => {
  const size = (one) => svg.getScreenCTM().a * parseFloat(getComputedStyle(one).fontSize);
  return [...svg.querySelectorAll("text")].map(size);
}).flat()"""


@pytest.mark.parametrize("width", [400, 1280])
def test_page_knows_the_parts_that_few_strategies_have(
    shared: Report, browser: Browser, width: int
) -> None:
    own = "MP1-DP20-PP1-EP20"
    with browser.page(shared.page, width) as (page, said):
        page.evaluate(UNFOLD)
        page.wait_for_function("charts.drawnAll()")
        lanes = page.locator("#timeline-view text").all_text_contents()
        assert "0: EP" in lanes and "0: compute" in lanes
        assert own in {row[1] for row in rows_of(page)}
        heads = page.locator("#explorer-table th").all_inner_texts()
        assert "EP" in heads and "CP" not in heads
        rows = len(rows_of(page))
        assert page.locator("#chart-explorer .main-svg .point").count() == rows * 8
        assert f"EP all-to-all of {own}" in page.locator("#phase option").all_inner_texts()
        assert "undefined" not in page.evaluate(SHOWN)
        page.evaluate("document.querySelectorAll('.map').forEach((one) => { one.hidden = false; })")
        labels = page.evaluate(LABELS)
        assert len(labels) > 5 * 64 and min(labels) >= 9
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert said == []


TICK = "getComputedStyle(document.querySelector('#chart-iteration .xtick text')).fill"


def test_dark_and_light_differ_and_charts_follow(wide: Any) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    before = wide.evaluate(colour), wide.evaluate(TICK)
    wide.emulate_media(color_scheme="dark")
    wide.wait_for_function(f"{TICK} !== '{before[1]}'")
    assert wide.evaluate(colour) != before[0]
    wide.emulate_media(color_scheme="light")


PAPER = 718
"""Width of A4 between the margins [px]."""


def test_print_has_the_charts_and_no_controls(wide: Any) -> None:
    wide.emulate_media(media="print", color_scheme="dark")
    assert wide.locator("nav, .controls").locator("visible=true").count() == 0
    background = wide.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert wide.evaluate(TICK) == "rgb(0, 0, 0)"
    wide.evaluate(f"document.body.style.width = '{PAPER}px'")
    for plot in wide.locator("figure.chart .plot").all():
        box = plot.locator(".main-svg").first.bounding_box()
        assert box and box["width"] > 150 and box["height"] > 60
        assert box["x"] + box["width"] <= PAPER
    wide.evaluate("document.body.style.width = ''")
    wide.emulate_media(media="screen", color_scheme="light")


@pytest.mark.parametrize(("kind", "pages"), [("report", 10), ("evidence", 30)])
def test_pdf_has_few_pages(
    request: pytest.FixtureRequest, browser: Browser, kind: str, pages: int
) -> None:
    with browser.page(request.getfixturevalue(kind).page, 1400) as (page, _):
        printed = page.pdf(format="A4", print_background=True)
        assert page.locator("details[open]").count() == 0
    assert pages / 2 < len(re.findall(rb"/Type\s*/Page\b", printed)) <= pages


def test_what_is_wrong_is_noticed(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "broken.html"
    path.write_text(
        "<!doctype html><title>x</title><body><p>one</p><p style='margin-top:-2em'>two</p>"
        "<script>fetch('http://127.0.0.1:9/x').catch(() => 0); throw Error('oh')</script>"
    )
    with browser.page(path, 400) as (page, said):
        assert page.evaluate(OVERLAPS) == ["one | two"]
        page.wait_for_timeout(500)
        assert any("oh" in line for line in said)
        assert "http://127.0.0.1:9/x" in said
