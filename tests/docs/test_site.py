"""The documentation site builds without a warning, and works in a browser from a folder."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chromium import launched

from .pages import ROOT

PAGES = ("index.html", "tutorials/first-switch.html", "reference/yaml-keys.html")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site."""
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(folder / "kept"), str(ROOT / "docs"), str(folder / "site")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with launched() as opened:
        yield opened


def test_site_has_all_pages(site: Path) -> None:
    assert {page.stem for page in (ROOT / "docs").rglob("*.md")} <= {
        page.stem for page in site.rglob("*.html")
    }
    assert "tutorials/first-switch.html" in (site / "index.html").read_text("utf-8")


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_page_fits_a_phone(chromium: Any, site: Path, name: str) -> None:
    page = chromium.new_page(viewport={"width": 400, "height": 800})
    page.goto((site / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


@pytest.mark.browser
def test_search_finds_a_word(chromium: Any, site: Path) -> None:
    page = chromium.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q=retransmission")
    page.wait_for_selector('#search-results li a[href*="reference/link.html"]')  # one by one
    page.close()


@pytest.mark.browser
def test_dark_mode_has_other_colours(chromium: Any, site: Path) -> None:
    colours: dict[str, list[str]] = {}
    for scheme in ("light", "dark"):
        page = chromium.new_page(color_scheme=scheme)
        page.goto((site / "index.html").as_uri())
        colours[scheme] = page.evaluate(
            "['backgroundColor', 'color'].map(one => getComputedStyle(document.body)[one])"
        )
        page.close()
    assert all(a != b for a, b in zip(colours["light"], colours["dark"], strict=True))


@pytest.mark.browser
def test_pages_request_nothing_outside_the_folder(chromium: Any, site: Path) -> None:
    outside: list[str] = []
    page = chromium.new_page()
    page.on("request", lambda one: one.url.startswith(site.as_uri()) or outside.append(one.url))
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
    page.close()
    assert [one for one in outside if not one.startswith("data:")] == []
