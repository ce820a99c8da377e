"""Tests of fred_cli.drawings.idea: the README has a still drawing, the site an animated one."""

import re
import xml.etree.ElementTree as ET

import pytest

from fred_cli.drawings.idea import draw_idea
from tests.docs.pages import ROOT

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("animated", [True, False])
def test_only_the_animated_drawing_moves(animated: bool) -> None:
    drawn = draw_idea(animated)
    circles = ET.fromstring(drawn).findall(f"{SVG}circle")
    assert len(circles) == (12 if animated else 0)
    assert ("@keyframes" in drawn) == ("animation:" in drawn) == animated
    name = "idea.svg" if animated else "idea-static.svg"
    assert (ROOT / "docs/figures" / name).read_text("utf-8") == drawn


def test_motion_stops_if_the_reader_asks_for_it() -> None:
    drawn = draw_idea()
    [rule] = re.findall(r"@media \(prefers-reduced-motion: reduce\) \{ (.*) \}\n", drawn)
    hidden = re.fullmatch(r"\.idea \.(\w+), \.idea \.(\w+) \{ display: none \}", rule)
    assert hidden
    circles = ET.fromstring(drawn).findall(f"{SVG}circle")
    assert {one.get("class") for one in circles} == {*hidden.groups()}


def test_drawings_differ_by_motion_alone() -> None:
    moving, still = (ET.fromstring(draw_idea(animated)) for animated in (True, False))
    for one in [*moving.findall(f"{SVG}circle"), *moving.findall(f"{SVG}style")]:
        moving.remove(one)
    for one in still.findall(f"{SVG}style"):
        still.remove(one)
    assert [ET.tostring(one) for one in moving] == [ET.tostring(one) for one in still]


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("README.md", "idea-static.svg"),
        ("docs/index.md", "idea.svg"),
        ("docs/explanation/what-is-fred.md", "idea.svg"),
    ],
)
def test_page_has_its_drawing(page: str, name: str) -> None:
    found = re.findall(r"figures/(idea[\w-]*\.svg)", (ROOT / page).read_text("utf-8"))
    assert found == [name]
