"""The explorer in headless Chromium: what is seen, clicked, typed and saved."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from fred_cli.explore.table import Table
from fred_cli.explore.words import label
from studies.study.store import open_store
from tests.chromium import check_keyboard, launched

from .conftest import served
from .stores import table_of

pytestmark = [pytest.mark.xdist_group("explorer"), pytest.mark.browser]

VIEW = (
    "?x=npu.peak_flops&y=time_per_sample_s&xlog=1&group=topology"
    "&column=topology&column=npu.peak_flops&column=topology.io_bytes_per_s"
    "&column=time_per_sample_s"
)
VIEWS = [(width, scheme) for width in (400, 1400) for scheme in ("light", "dark")]
DRAWN = "document.body.dataset.drawn"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with launched() as opened:
        yield opened


@contextmanager
def opened(
    chromium: Any, address: str, width: int = 1400, scheme: str = "light"
) -> Iterator[tuple[Any, list[str]]]:
    """Yield the page when its charts are drawn, and the lines of its console."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
    )
    context.set_default_timeout(60_000)  # [ms]; machines that are busy with tests are slow
    page, said = context.new_page(), []
    page.on("console", lambda one: said.append(one.text) if "setting log" not in one.text else 0)
    page.on("pageerror", lambda error: said.append(str(error)))
    own = urlsplit(address).netloc
    page.on("request", lambda one: None if _local(one.url, own) else said.append(one.url))
    try:
        page.goto(address)
        page.wait_for_selector("body[data-drawn]")
        yield page, said
    finally:
        context.close()


def _local(url: str, own: str) -> bool:
    return urlsplit(url).netloc == own or url.startswith(("data:", "blob:"))


@contextmanager
def redrawn(page: Any) -> Iterator[None]:
    """Wait until what happens inside has drawn the page again."""
    before = page.evaluate(DRAWN)
    yield
    page.wait_for_selector(f"body[data-drawn]:not([data-drawn='{before}'])")


@contextmanager
def shown(page: Any) -> Iterator[None]:
    """Wait until what happens inside has shown other points."""
    before = page.evaluate("document.body.dataset.points ?? ''")
    yield
    page.wait_for_selector(f"body[data-points]:not([data-points='{before}'])")


def until(page: Any, condition: str) -> None:
    """Wait until a condition holds in the page, whose policy forbids what playwright would do."""
    page.evaluate(
        f"async () => {{ while (!({condition})) await new Promise((go) => setTimeout(go, 10)); }}"
    )


def view_of(page: Any) -> dict[str, list[str]]:
    """Return the view that the address of the page holds."""
    return parse_qs(urlsplit(page.url).query)


def cells_of(page: Any, name: str) -> list[str]:
    """Return a column of the table."""
    names = page.locator("#table th [data-sort]").evaluate_all(
        "(found) => found.map((one) => one.dataset.sort.replace(/^-/, ''))"
    )
    place = names.index(name) + 2  # after the buttons
    return page.locator(f"#table tbody td:nth-child({place})").all_inner_texts()


def plot_of(page: Any, name: str) -> dict[str, float]:
    """Return where the frame of a chart is in the window."""
    page.locator(f"#{name}").scroll_into_view_if_needed()
    return page.evaluate(
        f"""() => {{
          const view = drawn.get("{name}").view, box = byId("{name}").getBoundingClientRect();
          const {{ x, y, width, height }} = view.frame.bbox;
          return {{ x: box.x + x, y: box.y + y, width, height }};
        }}"""
    )


@pytest.mark.slow
def test_a_view_is_drawn_and_filtered(chromium: Any, address: str, table: Table) -> None:
    with opened(chromium, f"{address}/{VIEW}") as (page, said):
        status = page.locator("#status").inner_text()
        assert status == "8 of 16 points shown, 8 failed; 2 on the Pareto front."
        assert sorted(set(cells_of(page, "topology"))) == ["mesh:2x2", "small.yaml"]
        counts = """() => drawn.get("chart-scatter").view.model.renderers
          .map((one) => one.data_source.data.points).filter(Boolean)
          .map((counts) => counts.reduce((sum, one) => sum + one, 0))"""
        assert page.evaluate(counts) == [4, 4]
        with redrawn(page):
            page.select_option("#add", "topology")
        with redrawn(page):
            page.check("[name='is.topology'][value='mesh:2x2']")
        assert set(cells_of(page, "topology")) == {"mesh:2x2"} and page.evaluate(counts) == [4, 0]
        with redrawn(page):
            page.select_option("#add", "npu.peak_flops")
        with redrawn(page):
            page.fill("[name='min.npu.peak_flops']", "2e15")
        assert cells_of(page, "npu.peak_flops") == ["4 PFLOP/s"] * 2
        assert view_of(page)["min.npu.peak_flops"] == ["2e+15"]
        with redrawn(page):
            page.click("[data-remove='topology']")
        assert page.locator("#table tbody tr").count() == 4
    assert said == []


@pytest.mark.slow
def test_a_deep_link_shows_the_same_page(chromium: Any, address: str, table: Table) -> None:
    key = table.row(2)["key"]
    link = (
        f"{address}/{VIEW}&filter=topology&is.topology=small.yaml&sort=-npu.peak_flops&point={key}"
    )
    with opened(chromium, link) as (page, said):
        page.wait_for_selector("body[data-points]")
        assert page.locator("#points h3").last.inner_text().startswith("resnet-50")
        before = page.locator("#table").inner_text(), page.locator("#points").inner_text()
        again = page.url
        assert view_of(page)["point"] == [key]
        assert cells_of(page, "npu.peak_flops") == ["4 PFLOP/s"] * 2 + ["1 PFLOP/s"] * 2
    with opened(chromium, again) as (page, _):
        page.wait_for_selector("body[data-points]")
        assert (page.locator("#table").inner_text(), page.locator("#points").inner_text()) == before
        with redrawn(page):
            page.click("#reset")
        assert page.locator("#points").is_hidden()
        page.go_back()
        page.wait_for_selector("#points:not([hidden]) h2")
    assert said == []


@pytest.mark.slow
def test_a_rectangle_selects_points_and_an_axis_filters(chromium: Any, address: str) -> None:
    with opened(chromium, f"{address}/{VIEW}") as (page, said):
        frame = plot_of(page, "chart-scatter")
        left, middle = frame["x"] + 3, frame["x"] + frame["width"] / 2
        with redrawn(page):  # the points of 1 PFLOP/s, on the left
            page.mouse.move(left, frame["y"] + 3)
            page.mouse.down()
            page.mouse.move(middle, frame["y"] + frame["height"] - 3, steps=5)
            page.mouse.up()
        assert "4 of them selected" in page.locator("#status").inner_text()
        assert cells_of(page, "npu.peak_flops") == ["1 PFLOP/s"] * 4
        assert "All 4 points" in page.locator("#drawn").inner_text()
        with redrawn(page):
            page.click("#narrow")
        assert page.locator("#status").inner_text().startswith("4 of 16 points shown, 8 failed;")
        assert "brush" not in view_of(page) and "min.npu.peak_flops" in view_of(page)
        with redrawn(page):
            page.click("#reset")
        with redrawn(page):
            page.evaluate(f"history.replaceState(null, '', '/{VIEW}'); start()")
        frame = plot_of(page, "chart-parallel")  # the first axis is that of topologies
        x = frame["x"] + frame["width"] * 0.35 / 4
        with redrawn(page):
            page.mouse.move(x - 12, frame["y"] + 2)
            page.mouse.down()
            page.mouse.move(x + 12, frame["y"] + frame["height"] / 2, steps=5)
            page.mouse.up()
        assert set(cells_of(page, "topology")) == {"small.yaml"}
        assert view_of(page)["is.topology"] == ["small.yaml"]
    assert said == []


@pytest.mark.slow
def test_points_without_varying_numbers_are_a_table(chromium: Any, tmp_path: Path) -> None:
    rows = [{"topology": name, "error": "must fit"} for name in ("mesh:2x2", "fred-d")]
    table_of(tmp_path / "store", rows)
    with (
        served(open_store(tmp_path / "store")) as address,
        opened(chromium, address) as (page, said),
    ):
        assert page.locator("#charts").is_hidden()
        assert cells_of(page, "topology") == ["mesh:2x2", "fred-d"]
        with shown(page):
            page.locator("[data-open]").last.click()
        assert "must fit" in page.locator("#points").inner_text()
    assert said == []


IMAGES = """() => {
  const inside = (root) => [...root.querySelectorAll("*")].flatMap((one) => [
    one, ...(one.shadowRoot ? inside(one.shadowRoot) : [])]);
  const found = inside(document);
  return {
    images: found.filter((one) => one.localName === "img").length,
    said: found.filter((one) => one.localName === "div" && !one.children.length)
      .map((one) => one.textContent).filter((text) => text.includes("<img")),
  };
}"""
"""Images of the page and of the shadow trees in it, and texts that look like one."""


@pytest.mark.slow
def test_text_of_files_is_no_code_in_tooltips(chromium: Any, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)> @x $index"
    rows = [
        {"topology": topology, "mp": mp, "time_per_sample_s": 1.0 / mp}
        for topology, mp in ((name, 1), ("mesh:2x2", 2))
    ]
    table_of(tmp_path / "store", rows)
    view = "?x=mp&y=time_per_sample_s&group=topology&column=topology"
    with (
        served(open_store(tmp_path / "store")) as address,
        opened(chromium, f"{address}/{view}") as (page, said),
    ):
        place = page.evaluate(
            """() => {
              byId("chart-scatter").scrollIntoView();
              const { frame, model } = drawn.get("chart-scatter").view;
              const { x, y } = model.renderers[0].data_source.data;
              const box = byId("chart-scatter").getBoundingClientRect();
              return [box.x + frame.x_scale.compute(x[0]), box.y + frame.y_scale.compute(y[0])];
            }"""
        )
        page.mouse.move(place[0] - 20, place[1])
        page.mouse.move(*place, steps=5)
        until(page, f"({IMAGES})().said.length > 0")
        assert page.evaluate(IMAGES) == {"images": 0, "said": [name]}
    assert said == []


@pytest.mark.slow
def test_a_click_opens_a_point_and_two_are_compared(
    chromium: Any, address: str, table: Table
) -> None:
    with opened(chromium, f"{address}/{VIEW}&ylog=1") as (page, said):
        place = page.evaluate(
            """() => {
              byId("chart-scatter").scrollIntoView();
              const { frame, model } = drawn.get("chart-scatter").view;
              const { x, y, key } = model.renderers[0].data_source.data;
              const box = byId("chart-scatter").getBoundingClientRect();
              const [left, top] = [frame.x_scale.compute(x[0]), frame.y_scale.compute(y[0])];
              return { x: box.x + left, y: box.y + top, key: key[0] };
            }"""
        )
        with shown(page):
            page.mouse.click(place["x"], place["y"])
        first = table.row(table.keys[place["key"]])
        assert view_of(page)["point"] == [first["key"]]
        assert first["topology"] in page.locator("#side-point h3").inner_text()
        with shown(page):
            page.click("#pin")
        other = page.locator("[data-open]:not([aria-pressed])").last
        with shown(page):
            other.click()
        second = table.row(table.keys[view_of(page)["point"][0]])
        assert view_of(page)["pin"] == [first["key"]] != [second["key"]]
        assert page.locator("#points h2").inner_text() == "Two points compared"
        for name in ("chart-breakdown", "chart-timeline-pin", "chart-timeline-point"):
            assert page.locator(f"#{name} canvas").count() >= 1
        differ = [label(name) for name in table.varied if first.get(name) != second.get(name)]
        names = page.locator("#points details tbody td:first-child").all_inner_texts()
        assert names == differ != []
        span = "() => drawn.get('chart-timeline-pin').view.model.x_range.end"
        whole, frame = page.evaluate(span), plot_of(page, "chart-timeline-pin")
        across, middle = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
        page.mouse.move(frame["x"] + 5, middle)
        page.mouse.down()
        page.mouse.move(across, middle, steps=5)
        page.mouse.up()
        until(page, f"({span})() < {0.6 * whole}")
        page.mouse.dblclick(across, middle)
        until(page, f"({span})() === {whole}")
        for side, row in (("pin", first), ("point", second)):
            assert row["strategy"] in page.locator(f"#side-{side} .command").inner_text()
        with shown(page):
            page.click("#unpin")
        assert page.locator("#points h2").inner_text() == "Point"
        page.click("#close")
        page.wait_for_selector("#points", state="hidden")
    assert said == []


@pytest.mark.slow
def test_charts_tables_and_files_are_saved(
    chromium: Any, address: str, table: Table, tmp_path: Path
) -> None:
    key = table.row(8)["key"]

    def saved(page: Any, selector: str) -> Path:
        with page.expect_download() as download:
            page.locator(selector).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path

    with opened(chromium, f"{address}/{VIEW}&point={key}") as (page, said):
        page.wait_for_selector("body[data-points]")
        svg = saved(page, "[data-export=svg][data-chart=chart-scatter]").read_text()
        assert svg.startswith("<svg") and "time per sample [s]" in svg
        png = saved(page, "[data-export=png][data-chart=chart-parallel]")
        assert png.name == "parallel.png" and png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        with saved(page, "a[download='points.csv']").open() as file:
            assert len(list(csv.DictReader(file))) == 8
        assert "io_bytes_per_s" in saved(page, "a[download='topology.yaml']").read_text()
    assert said == []


@pytest.fixture(scope="module", params=VIEWS, ids=lambda view: f"{view[0]}-{view[1]}")
def looked_at(
    request: pytest.FixtureRequest, chromium: Any, address: str, table: Table
) -> Iterator[tuple[Any, list[str]]]:
    """Yield the page with two points and a filter, everything unfolded."""
    keys = f"&point={table.row(0)['key']}&pin={table.row(8)['key']}&filter=topology"
    with opened(chromium, f"{address}/{VIEW}{keys}", *request.param) as (page, said):
        page.wait_for_selector("body[data-points]")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        yield page, said


@pytest.mark.slow
def test_nothing_leaves_the_window(looked_at: tuple[Any, list[str]]) -> None:
    page, said = looked_at
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert said == []


@pytest.mark.slow
def test_axe_finds_nothing(looked_at: tuple[Any, list[str]]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(looked_at[0], options={"resultTypes": ["violations"]})
    assert results.violations_count == 0, results.generate_report()
    assert len(results.response["passes"]) > 20


@pytest.mark.slow
def test_keyboard_reaches_everything(looked_at: tuple[Any, list[str]]) -> None:
    check_keyboard(looked_at[0])


@pytest.mark.slow
def test_keyboard_opens_sorts_and_turns_pages(chromium: Any, address: str) -> None:
    with opened(chromium, f"{address}/{VIEW}") as (page, said):
        with redrawn(page):
            page.locator("[data-sort$='npu.peak_flops']").press("Enter")
        assert page.evaluate("document.activeElement.dataset.sort") == "-npu.peak_flops"
        assert cells_of(page, "npu.peak_flops") == ["1 PFLOP/s"] * 4 + ["4 PFLOP/s"] * 4
        with redrawn(page):
            page.keyboard.press("Enter")
        assert cells_of(page, "npu.peak_flops") == ["4 PFLOP/s"] * 4 + ["1 PFLOP/s"] * 4
        with shown(page):
            page.locator("[data-open]").nth(2).press("Enter")
        assert page.locator("#points").is_visible()
        with redrawn(page):
            page.locator("#front").press("Space")
        assert page.locator("#table tbody tr").count() == 2
    assert said == []


@pytest.mark.slow
def test_dark_and_light_differ_and_charts_follow(chromium: Any, address: str) -> None:
    colour = """() => [getComputedStyle(document.body).backgroundColor,
      drawn.get("chart-scatter").view.model.background_fill_color]"""
    with opened(chromium, f"{address}/{VIEW}") as (page, said):
        light = page.evaluate(colour)
        with redrawn(page):
            page.emulate_media(color_scheme="dark")
        dark = page.evaluate(colour)
        assert light[0] != dark[0] and light[1] != dark[1]
    assert said == []


@pytest.mark.slow
def test_a_wrong_address_says_what_is_wrong(chromium: Any, address: str) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{address}/?x=none")
    alert = page.locator("#alert")
    alert.wait_for()
    assert alert.inner_text() == "x: must be a column of numbers that vary, not 'none'"
    context.close()
