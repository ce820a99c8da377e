"""Tests of perfmodel.reproduce."""

import pytest

from perfmodel.published import SWEEPS
from perfmodel.reproduce import SECTIONS, reproduce


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
