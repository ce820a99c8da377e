"""Tests of fred_cli.explore.scatter."""

import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fred_cli.explore.look import Look
from fred_cli.explore.scatter import cells, scatter, scatter_data
from fred_cli.explore.table import Table
from fred_cli.explore.view import View, default_view


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), max_size=200))
def test_each_point_is_in_a_cell_with_the_first_one(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs, float).reshape(-1, 2).T
    first, count = cells(x, y)
    assert count.sum() == len(pairs)
    assert len(set(first.tolist())) == len(first)
    if len(x):  # no point is further from one that is drawn than a cell is large
        width, height = np.ptp(x) / 95 + 1e-9, np.ptp(y) / 47 + 1e-9
        near = (np.abs(x[:, None] - x[first]) <= width) & (np.abs(y[:, None] - y[first]) <= height)
        assert near.any(axis=1).all()


def test_many_points_become_few_markers() -> None:
    rng = np.random.default_rng(1)
    first, count = cells(rng.random(100_000), rng.random(100_000))
    assert len(first) <= 96 * 48 and count.sum() == 100_000


def test_sources_have_all_points_by_group(table: Table) -> None:
    view = default_view(table)
    shown = view.shown(table)
    found = scatter_data(table, view, shown, view.front(table, shown))
    groups = [found[name] for name in found if name.startswith("group-")]
    assert len(groups) == 2 and sum(sum(one["points"]) for one in groups) == len(shown) == 8
    for one in groups:
        places = [table.keys[key] for key in one["key"]]
        assert one["x"] == table.numbers(view.x)[places].tolist()
    low, high = found["ranges"]["y"]
    assert low < min(groups[0]["y"] + groups[1]["y"]) and max(groups[0]["y"]) < high


def test_a_selection_marks_its_points(table: Table) -> None:
    base = default_view(table)
    y = table.numbers(base.y)
    view = View(**{**vars(base), "brush": (-1e9, 1e9, 0.0, float(np.nanmedian(y)))})
    shown = view.shown(table)
    found = scatter_data(table, view, shown, view.front(table, shown))
    for name in ("group-0", "group-1"):
        inside = [place for place, one in enumerate(found[name]["y"]) if one <= view.brush[3]]
        assert found[name]["selected"] == inside


def test_plot_stays_the_same_until_axes_or_colours_change(table: Table) -> None:
    def root(dark: bool = False, **changes: Any) -> str:
        view = View(**{**vars(default_view(table)), **changes})
        return scatter(table, view, Look(dark=dark))["root_id"]

    assert root() == root(point="0" * 32, page=3)
    others = {root(), root(dark=True), root(group=""), root(flags=frozenset({"xlog"}))}
    assert len(others) == 4


def test_axes_and_groups_are_named(table: Table) -> None:
    said = json.dumps(scatter(table, default_view(table), Look()))
    assert "time per sample [s]" in said and "small.yaml" in said
