"""Tests of fred_cli.explore.view."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_cli.explore.table import Table
from fred_cli.explore.view import Filter, View, default_view, read_view
from fred_hw.errors import InputError

from .stores import table_of


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Return a table of 60 points on a grid of few values, some without a value."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "a": float(rng.integers(6)),
            "b": None if number % 17 == 0 else float(rng.integers(6)),
            "topology": ("mesh:2x2", "fred-d")[number % 2],
            "time_per_sample_s": float(rng.integers(1, 99)),
        }
        for number in range(60)
    ]
    return table_of(tmp_path_factory.mktemp("points") / "s", rows)


def test_an_address_without_a_query_shows_time_over_energy(table: Table) -> None:
    view = read_view("", table)
    assert (view.x, view.y, view.group) == ("energy.total_j", "time_per_sample_s", "topology")
    assert {"topology", "npu.peak_flops", view.x, view.y} <= set(view.columns)
    assert view == default_view(table)


def test_the_address_holds_the_view(points: Table) -> None:
    view = View(
        "a",
        "b",
        "topology",
        frozenset({"xlog", "ymore", "front"}),
        {"a": Filter(low=0.5), "topology": Filter(values=("fred-d", "mesh:2x2"))},
        (0.0, 1.5, -2.0, 3.25),
        ("a", "topology"),
        "-a",
        2,
        "0" * 32,
        "1" * 32,
    )
    read = read_view(view.query(), points)
    assert read == View(**{**vars(view), "columns": ("topology", "a")})  # in order of the table


@given(
    low=st.none() | st.integers(0, 6),
    high=st.none() | st.integers(0, 6),
    names=st.sets(st.sampled_from(["mesh:2x2", "fred-d"])),
    log=st.booleans(),
)
def test_filters_let_through_what_satisfies_all(
    points: Table, low: int | None, high: int | None, names: set[str], log: bool
) -> None:
    filters = {"b": Filter(low, high), "topology": Filter(values=tuple(names))}
    view = View("a", "b", flags=frozenset({"xlog"} if log else ()), filters=filters)
    expected = [
        place
        for place in range(len(points))
        for row in [points.row(place)]
        if "b" in row
        and (low is None or row["b"] >= low)
        and (high is None or row["b"] <= high)
        and (not names or row["topology"] in names)
        and (row["a"] > 0 or not log)
    ]
    assert view.shown(points).tolist() == expected


@given(flags=st.frozensets(st.sampled_from(["xmore", "ymore"])), low=st.integers(0, 5))
def test_front_is_of_all_points_that_no_other_point_beats(
    points: Table, flags: frozenset[str], low: int
) -> None:
    view = View("a", "b", flags=flags, filters={"a": Filter(low=low)})
    shown = view.shown(points)
    x = points.numbers("a")[shown] * (-1 if "xmore" in flags else 1)
    y = points.numbers("b")[shown] * (-1 if "ymore" in flags else 1)
    pairs = set(zip(x.tolist(), y.tolist(), strict=True))
    best = {
        one
        for one in pairs
        if not any(o != one and o[0] <= one[0] and o[1] <= one[1] for o in pairs)
    }
    front = view.front(points, shown)
    found = [(x[place], y[place]) for place in (shown.tolist().index(row) for row in front)]
    assert sorted(found) == sorted(best)
    assert points.numbers("a")[front].tolist() == sorted(points.numbers("a")[front])


def test_brush_selects_points_in_a_rectangle(points: Table) -> None:
    view = View("a", "b", brush=(1, 2, 0, 3))
    shown = view.shown(points)
    a, b = points.numbers("a"), points.numbers("b")
    expected = [row for row in shown if 1 <= a[row] <= 2 and 0 <= b[row] <= 3]
    assert view.brushed(points, shown).tolist() == expected != []


def test_table_is_sorted_by_a_column_in_both_directions(points: Table) -> None:
    rows = np.arange(0, 60, 3)
    for sort, sign in (("time_per_sample_s", 1), ("-time_per_sample_s", -1)):
        values = points.numbers("time_per_sample_s")[View("a", "b", sort=sort).sorted(points, rows)]
        assert (sign * values).tolist() == sorted(sign * points.numbers("time_per_sample_s")[rows])


REFUSED = {
    "x=c": r"x: must be a column of numbers that vary, not 'c'",
    "x=topology": r"x: must be a column of numbers that vary, not 'topology'",
    "x=a&group=time_per_sample_s": r"group: must have at most 8 values, not time_per_sample_s",
    "x=a&sort=topolgy": r"sort: must be a column that varies, not 'topolgy'; did you mean .*",
    "filter=c": r"filter: must be a column that varies, not 'c'",
    "filter=a&min.a=x": r"min\.a: must be a number, not 'x'",
    "filter=a&max.a=inf": r"max\.a: must be a number, not 'inf'",
    "brush=1,2,3": r"brush: must be four numbers, not '1,2,3'",
    "brush=1,2,3,nan": r"brush: must be a number, not 'nan'",
    "column=x": r"column: must be a column that varies, not 'x'",
}


@pytest.mark.parametrize(("query", "said"), REFUSED.items(), ids=REFUSED)
def test_an_address_with_a_wrong_value_is_refused(points: Table, query: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_view(query, points)
    assert re.fullmatch(said, str(caught.value))


def test_a_store_of_switches_shows_area_over_an_input(tmp_path: Path) -> None:
    rows = [
        {
            "specification": "tiny-2",
            "level": "interconnect",
            "specification.lanes": lanes,
            "specification.format": form,
            "area_um2": 10.0 * lanes,
            "clock_ns": 0.5,
        }
        for lanes in (1, 2)
        for form in ("int8", "int16")
    ]
    view = default_view(table_of(tmp_path / "s", rows))
    assert (view.x, view.y) == ("specification.lanes", "area_um2")
    assert view.group in {"specification.lanes", "specification.format"}
    assert {*view.columns} == {"specification.lanes", "specification.format", "area_um2"}


TRACE = {"traces": "step", "rank": 0}
STORES: dict[str, tuple[list[dict[str, Any]], tuple[str, str], tuple[str, ...]]] = {
    "traces": (
        [
            {**TRACE, "network": name, "total_ns": total, "compute_ns": total // 2}
            for name, total in (("a.yaml", 8), ("fred-d", 6))
        ],
        ("compute_ns", "total_ns"),
        ("network", "total_ns", "compute_ns"),
    ),
    "regression without a failure": (
        [{"specification": "tiny-2", "seed": seed, "tests_failed": 0} for seed in (1, 2, 3)],
        ("seed", "tests_failed"),
        ("seed", "tests_failed"),
    ),
    "figures that no study minimizes": (
        [{"topology": "mesh:2x2", "mp": mp, "stall_s": 1.0 / mp} for mp in (1, 2)],
        ("mp", "stall_s"),
        ("mp", "stall_s"),
    ),
    "one point": ([{"time_per_sample_s": 1.0, "a": 1}], ("", ""), ("time_per_sample_s", "a")),
    "failures": (
        [{"topology": name, "error": "must fit"} for name in ("mesh:2x2", "fred-d")],
        ("", ""),
        ("topology",),
    ),
}


@pytest.mark.parametrize("name", STORES)
def test_every_store_has_a_view(tmp_path: Path, name: str) -> None:
    rows, axes, columns = STORES[name]
    table = table_of(tmp_path / "s", rows)
    view = default_view(table)
    assert (view.x, view.y, view.columns) == (*axes, columns)
    assert read_view(view.query(), table) == view
    rest = np.arange(len(rows))
    assert view.shown(table).tolist() == sorted(view.sorted(table, rest)) == rest.tolist()
    assert (len(view.front(table, rest)) > 0) == bool(view.x)
