"""Tests of fred_cli.drawings.markup."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fred_cli.drawings.chart import Panel, chart
from fred_cli.drawings.markup import escape, script_json
from tests.fred_cli.fred import Fred

ROOT = Path(__file__).parents[3]
TEXTS = [
    "<!--<script>",
    "</script><script>alert(1)</script>",
    "-->]]>&amp;\"'",
    "\u2028\u2029\x1b[31m\x00\ufffe",
]


class Scripts(HTMLParser):
    """Collects what browsers take for the contents of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.inside = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found.append(data)


@pytest.mark.parametrize("text", TEXTS)
def test_json_in_a_script_is_plain_and_means_the_same(text: str) -> None:
    said = script_json({text: [text]})
    assert said.isascii() and not set("<>&") & set(said)
    assert json.loads(said) == {text: [text]}


@pytest.mark.parametrize("text", TEXTS)
def test_a_chart_has_its_data_whatever_its_names_are(text: str) -> None:
    scripts = Scripts()
    scripts.feed(chart("c", [Panel(text, [{"y": [text]}])], [(text, "red")]))
    (found,) = scripts.found
    assert json.loads(found)["data"] == [{"y": [text]}]


@pytest.mark.parametrize("text", TEXTS)
def test_text_in_svg_is_well_formed(text: str) -> None:
    escaped = escape(text)
    root = ET.fromstring(f'<svg a="{escaped}"><text>{escaped}</text></svg>')
    assert root[0].text == root.get("a") and (root[0].text or "").isprintable()


def test_nothing_else_escapes_markup() -> None:
    for path in (ROOT / "fred_cli").rglob("*.py"):
        if path.name != "markup.py":
            assert not re.search(r"^(from|import) html\b", path.read_text(), re.MULTILINE), path


NAME = "\x1b[31m<!--<script>&\u202e.yaml"


def test_a_file_of_any_name_is_printed_and_drawn(fred: Fred, place: Path) -> None:
    (place / NAME).write_text("kind: mesh\ncolumns: 2\nrows: 2\n")
    out = fred.out("collective", "--topology", NAME, "--draw", "x.svg")
    assert "\\x1b[31m<!--<script>&\\u202e" in out
    assert all(line.isprintable() for line in out.split("\n"))
    assert "\\x1b[31m<!--<script>&" in "".join(ET.parse("x.svg").getroot().itertext())


def test_a_workload_of_any_name_is_in_its_chart(fred: Fred, place: Path) -> None:
    (place / NAME).write_text((place / "own.yaml").read_text())
    out = fred.out(
        *("strategies", "--topology", "mesh:2x2", "--workload", NAME, "--chart", "x.html")
    )
    assert all(line.isprintable() for line in out.split("\n"))
    page = Scripts()
    page.feed((place / "x.html").read_text())
    charts = [one for one in page.found if one.startswith("{")]
    assert charts and all(json.loads(one)["data"] for one in charts)
