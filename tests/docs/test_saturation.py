"""Tests of docs.generate.saturation: the figure has every curve, and the page keeps its words."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.generate import saturation
from docs.generate.saturation import DRAWN, MOST, draw_saturation, saturation_page
from studies.saturation import load_saturation
from tests.written import written

SVG = "{http://www.w3.org/2000/svg}"


def test_figure_has_a_line_and_a_name_for_each_curve_inside_its_axes() -> None:
    root = ElementTree.fromstring(draw_saturation())
    lines = [one.get("points", "") for one in root.iter(f"{SVG}polyline")]
    names = [one.text or "" for one in root.iter(f"{SVG}text")]
    assert len(lines) == len(load_saturation().uniform) + len(DRAWN)
    assert len(lines) == sum(name.startswith(("fred-hw, ", "BookSim 2, ")) for name in names)
    for line in lines:
        places = [tuple(map(float, one.split(","))) for one in line.split()]
        across, down = zip(*places, strict=True)
        assert list(across) == sorted(across)
        # All begin at 1 and leave at the top.
        assert (down[0], down[-1]) == (pytest.approx(368), pytest.approx(40)), MOST
        assert max(down) <= 368.05 and min(down) >= 40


def test_tables_are_made_anew_and_words_between_them_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = saturation.MESH_PAGE.read_text(encoding="utf-8")
    emptied = re.sub(r"(<!-- \w+: make docs -->\n).*?(<!-- end -->)", r"\1\2", page, flags=re.S)
    assert len(emptied) < len(page) - 1000
    monkeypatch.setattr(saturation, "MESH_PAGE", written(tmp_path / "mesh.md", emptied))
    assert saturation_page() == page


def test_page_without_room_for_a_table_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = written(tmp_path / "mesh.md", "<!-- latency: make docs -->\n\nwords\n")
    monkeypatch.setattr(saturation, "MESH_PAGE", page)
    with pytest.raises(ValueError, match=r"^mesh.md must have <!-- latency: make docs --> and"):
        saturation_page()
