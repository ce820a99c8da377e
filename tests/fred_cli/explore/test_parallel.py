"""Tests of fred_cli.explore.parallel."""

from pathlib import Path

import numpy as np
import pytest

from fred_cli.explore.look import Look
from fred_cli.explore.parallel import MOST_LINES, axes_of, lines_of, parallel, parallel_data
from fred_cli.explore.table import Table
from fred_cli.explore.view import View, default_view

from .stores import table_of


def test_axes_run_from_the_least_to_the_greatest_value(tmp_path: Path) -> None:
    rows = [
        {"linear": 1.0, "wide": 1.0, "topology": "b", "time_per_sample_s": 1.0},
        {"linear": 2.0, "wide": 10.0, "topology": "a", "time_per_sample_s": 3.0},
        {"linear": 5.0, "wide": 100.0, "topology": "c", "time_per_sample_s": 2.0},
    ]
    table = table_of(tmp_path / "s", rows)
    view = View("linear", "wide", columns=("linear", "wide", "topology"))
    every = np.arange(3)
    axes = axes_of(table, view, every)
    places = [axis.places(table, every).tolist() for axis in axes]
    assert places[0] == [0, 0.25, 1]
    assert places[1] == pytest.approx([0, 0.5, 1])
    assert places[2] == [0.5, 0, 1]
    assert axes[2].ticks == ((0, "a"), (0.5, "b"), (1, "c"))
    assert [axis.log for axis in axes] == [False, True, False]
    ends = {"low": 1.0, "high": 100.0, "log": True}
    assert axes[1].to_dict() == {"name": "wide", "values": (), **ends}


def test_front_is_always_drawn_and_others_are_sampled(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [{"a": float(x), "time_per_sample_s": float(y)} for x, y in rng.random((2000, 2))]
    table = table_of(tmp_path / "s", rows)
    view = default_view(table)
    shown = view.shown(table)
    front = view.front(table, shown)
    lines = lines_of(table, view, shown, front)
    assert len(lines) == len(set(lines.tolist())) == MOST_LINES
    assert set(front.tolist()) <= set(lines.tolist())
    few = lines_of(table, view, shown[:50], front)
    assert sorted(few.tolist()) == shown[:50].tolist()


def test_lines_have_a_place_on_each_axis(table: Table) -> None:
    view = default_view(table)
    shown = view.shown(table)
    front = view.front(table, shown)
    axes = axes_of(table, view, shown)
    lines = lines_of(table, view, shown, front)
    found = parallel_data(table, view, lines, front, axes, Look())
    assert len(found["front"]["ys"]) == len(front)
    assert len(found["others"]["ys"]) + len(front) == len(shown)
    for ys in found["front"]["ys"] + found["others"]["ys"]:
        assert len(ys) == len(view.columns) and all(0 <= y <= 1 for y in ys)
    assert parallel(view, Look()) is parallel(view, Look())


def test_no_point_has_no_axes(table: Table) -> None:
    view, none = default_view(table), np.empty(0, np.int64)
    assert axes_of(table, view, none) == []
    found = parallel_data(table, view, none, none, [], Look())
    assert found["others"]["xs"] == found["ticks"]["x"] == []
