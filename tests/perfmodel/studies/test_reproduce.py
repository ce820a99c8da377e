"""Tests of perfmodel.studies.reproduce."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from perfmodel.published import BISECTION, SWEEPS, WAFER_BANDWIDTH, Published
from perfmodel.studies.reproduce import reproduce, reproduce_both
from perfmodel.studies.section import SECTIONS, ReproduceRow
from perfmodel.switch_timing.record import PROTOCOL_MODELS, ProtocolModel
from tests.perfmodel.studies.rewrite import FIGURES

ROOT = Path(__file__).parents[3]
SECTIONS_IN_TOLERANCE = ["bandwidth", "wafer", pytest.param("speedups", marks=pytest.mark.slow)]


@cache
def rows_of(section: str, protocol: ProtocolModel = "ideal") -> tuple[ReproduceRow, ...]:
    """Return the rows of a section, found once."""
    return tuple(reproduce([section], protocol))


@pytest.mark.parametrize("section", SECTIONS_IN_TOLERANCE)
def test_all_figures_of_a_section_are_within_tolerance(section: str) -> None:
    rows = rows_of(section)
    assert [row.id for row in rows if not row.ok] == []
    assert len({row.id for row in rows}) == len(rows) >= 12
    for row in rows:
        assert row.source and row.how
        assert isinstance(row.model, float | int) and isinstance(row.published, float | int)
        assert row.ratio == pytest.approx(row.model / row.published)


def test_every_fabric_has_every_bandwidth() -> None:
    found = {row.id for row in rows_of("bandwidth")}
    for kind in ("wafer", "mp", "dp", "pp"):
        for fabric in ("mesh:5x4", "fred-a", "fred-b", "fred-c", "fred-d"):
            assert f"bandwidth/{kind}/{fabric}" in found


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOL_MODELS)
def test_only_fred_c_is_calibrated(protocol: ProtocolModel) -> None:
    for row in rows_of("speedups", protocol):
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
    assert tuple(SECTIONS) == ("bandwidth", "wafer", "speedups", "sweeps")


@pytest.mark.parametrize(
    ("sections", "protocol"),
    [
        (("bandwidth", "wafer"), "ideal"),
        pytest.param(("bandwidth", "wafer", "speedups"), "measured", marks=pytest.mark.slow),
    ],
)
def test_ids_are_unique_and_begin_with_their_subject(
    sections: tuple[str, ...], protocol: ProtocolModel
) -> None:
    ids = [row.id for section in sections for row in rows_of(section, protocol)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9:/-]+", name) for name in ids)


def test_sections_are_given_in_their_own_order_and_others_left_out() -> None:
    found = tuple(reproduce(["wafer", "bandwidth"], "ideal"))
    assert found == rows_of("bandwidth") + rows_of("wafer")
    assert list(reproduce([])) == []


@pytest.mark.parametrize(
    ("ratio", "ok"),
    [(0.94, False), (0.951, True), (1.0, True), (1.049, True), (1.06, False), (2.0, False)],
)
def test_ratio_outside_the_tolerance_is_not_ok(
    monkeypatch: pytest.MonkeyPatch, ratio: float, ok: bool
) -> None:
    name = "bandwidth/wafer/fred-d"
    model = next(row for row in rows_of("bandwidth") if row.id == name).model
    assert isinstance(model, float)
    figure = Published(model * 1e12 / ratio, "made up")
    monkeypatch.setitem(WAFER_BANDWIDTH, "fred-d", figure)
    row = next(row for row in reproduce(["bandwidth"], "ideal") if row.id == name)
    assert row.ratio == pytest.approx(ratio) and row.tolerance == 0.05
    assert (row.ok, row.source, row.model) == (ok, "made up", model)


def test_miss_stays_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [row.id for row in rows_of("wafer")]
    monkeypatch.setitem(BISECTION, "fred-c", Published(1.0, "made up"))
    rows = list(reproduce(["wafer"], "ideal"))
    assert [row.id for row in rows] == before
    assert [row.id for row in rows if not row.ok] == ["bisection/fred-c"]


@pytest.mark.slow
def test_ideal_protocol_gives_the_figures_of_interconnects_alone() -> None:
    # Of switches without link layer, buffers and phases; of `fred reproduce --protocol ideal`.
    # `make golden` writes them after a change that is meant.
    expected = json.loads(FIGURES.read_text(encoding="utf-8"))
    rows = list(reproduce(protocol="ideal"))
    assert [row.id for row in rows] == list(expected)
    for row in rows:
        if isinstance(row.model, str):
            assert row.model == expected[row.id], row.id
        else:
            assert row.model == pytest.approx(expected[row.id], rel=1e-9), row.id


def test_pages_say_how_many_figures_there_are() -> None:
    count = len(json.loads(FIGURES.read_text(encoding="utf-8")))
    assert f"`fred reproduce` has {count} figures" in (ROOT / "README.md").read_text()
    assert f" of {count} are within" in (ROOT / "docs/fidelity.md").read_text()


@pytest.mark.parametrize("section", ["bandwidth", "wafer"])
def test_protocol_moves_what_takes_time_and_nothing_else(
    give_whole_switches: Callable[..., None], section: str
) -> None:
    give_whole_switches(0.5, {"l1-11": 15, "l1-12": 15, "l2-10": 15})
    for row in reproduce_both([section]):
        assert row.moved_percent is not None
        if row.id.startswith(("bandwidth/", "line-rate/")):
            assert row.moved_percent == pytest.approx(-50, abs=0.5), row.id
        else:
            assert row.moved_percent == 0.0 and row.ideal == row.model, row.id


def test_rows_of_both_are_those_of_each() -> None:
    both = reproduce_both(["bandwidth"])
    for row, measured, without in zip(
        both, reproduce(["bandwidth"]), rows_of("bandwidth"), strict=True
    ):
        for name in ("id", "what", "published", "model", "ratio", "tolerance", "ok", "how"):
            assert getattr(row, name) == getattr(measured, name)
        assert row.ideal == without.model
        assert isinstance(row.model, float) and isinstance(without.model, float)
        assert row.moved_percent == 100 * (row.model / without.model - 1)
    assert reproduce_both([]) == ()
