"""Tests of perfmodel.reproduce."""

import re

import pytest

from perfmodel.published import BISECTION, SWEEPS, WAFER_BANDWIDTH, Published
from perfmodel.reproduce import SECTIONS, ReproduceRow, reproduce


@pytest.mark.parametrize("section", ["bandwidth", "wafer", "speedups"])
def test_all_figures_of_a_section_are_within_tolerance(section: str) -> None:
    rows = list(reproduce([section]))
    assert [row.id for row in rows if not row.ok] == []
    assert len({row.id for row in rows}) == len(rows) >= 12
    for row in rows:
        assert row.source and row.how
        assert isinstance(row.model, float | int) and isinstance(row.published, float | int)
        assert row.ratio == pytest.approx(row.model / row.published)


def test_every_fabric_has_every_bandwidth() -> None:
    found = {row.id for row in reproduce(["bandwidth"])}
    for kind in ("wafer", "mp", "dp", "pp"):
        for fabric in ("mesh:5x4", "fred-a", "fred-b", "fred-c", "fred-d"):
            assert f"bandwidth/{kind}/{fabric}" in found


def test_only_fred_c_is_calibrated() -> None:
    for row in reproduce(["speedups"]):
        if row.id.startswith("speedup/"):
            assert ("calibrated on this figure" in row.how) == row.id.endswith("fred-c")
            assert ("predicted" in row.how) == row.id.endswith("fred-d")


@pytest.mark.slow
def test_misses_of_the_sweeps_stay_visible() -> None:
    rows = list(reproduce(["sweeps"]))
    assert len(rows) == 5 * len(SWEEPS)
    for row in rows:
        if row.ratio is None:
            assert row.ok == (row.model == row.published)
        else:
            assert row.tolerance == 0.05
            assert row.ok == (abs(row.ratio - 1) <= 0.05)
    assert any(not row.ok for row in rows)


def test_sections_are_all_there() -> None:
    assert SECTIONS == ("bandwidth", "wafer", "speedups", "sweeps")


def test_ids_are_unique_and_begin_with_their_subject() -> None:
    ids = [row.id for row in reproduce(["bandwidth", "wafer", "speedups"])]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9:/-]+", name) for name in ids)


def test_sections_are_given_in_their_own_order_and_others_left_out() -> None:
    wafer, bandwidth = (list(reproduce([name])) for name in ("wafer", "bandwidth"))
    assert list(reproduce(["wafer", "bandwidth"])) == bandwidth + wafer
    assert list(reproduce([])) == []


def bandwidth_row(name: str) -> ReproduceRow:
    return next(row for row in reproduce(["bandwidth"]) if row.id == name)


@pytest.mark.parametrize(
    ("ratio", "ok"),
    [(0.94, False), (0.951, True), (1.0, True), (1.049, True), (1.06, False), (2.0, False)],
)
def test_ratio_outside_the_tolerance_is_not_ok(
    monkeypatch: pytest.MonkeyPatch, ratio: float, ok: bool
) -> None:
    name = "bandwidth/wafer/fred-d"
    model = bandwidth_row(name).model
    assert isinstance(model, float)
    figure = Published(model * 1e12 / ratio, "made up")
    monkeypatch.setitem(WAFER_BANDWIDTH, "fred-d", figure)
    row = bandwidth_row(name)
    assert row.ratio == pytest.approx(ratio) and row.tolerance == 0.05
    assert (row.ok, row.source, row.model) == (ok, "made up", model)


def test_miss_stays_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [row.id for row in reproduce(["wafer"])]
    monkeypatch.setitem(BISECTION, "fred-c", Published(1.0, "made up"))
    rows = list(reproduce(["wafer"]))
    assert [row.id for row in rows] == before
    assert [row.id for row in rows if not row.ok] == ["bisection/fred-c"]
