"""Tests of studies.study.screen, and of runs with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies.study import run as runs
from studies.study import screen as screens
from studies.study.run import run_study
from studies.study.screen import Screen
from studies.study.store import create_store, open_store

from .engines import Inline, StopError
from .studies import planned

SPACE: dict[str, Any] = {
    "topology": ["mesh:2x2", "mesh:4x1", "mesh:3x1"],
    "topology.link_bytes_per_s": [1e9, 1e12],
    "workload": "resnet-50",
    "strategy": ["MP1-DP4-PP1", "MP1-DP2-PP1", "MP1-DP1-PP2", "MP1-DP1-PP4", "MP1-DP8-PP1"],
    "npu.peak_flops": [1e15, 2e15, 4e15],
    "npu.hbm_bytes": [1e9, 1e11],
    "network_model": ["fluid"],
}
ONE = ["time_per_sample_s"]
SEVERAL = ["time_per_sample_s", "memory.total_bytes", "busy_s", "peak_share"]


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of the whole grid."""
    folder = tmp_path_factory.mktemp("grid")
    run_study(planned(folder, SPACE), folder / "store", Inline)
    return folder / "store"


@pytest.fixture(autouse=True)
def _single_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep batches to one point however fast the machine, as the grid has few points."""
    monkeypatch.setattr(runs, "SCREENED_S", 0.0)


@pytest.mark.parametrize("objectives", [ONE, SEVERAL[:2], SEVERAL[:3]], ids=len)
def test_screening_keeps_the_best_points_and_the_front(
    tmp_path: Path, grid: Path, objectives: list[str]
) -> None:
    plan = planned(tmp_path, SPACE, objectives=objectives)
    summary = run_study(plan, tmp_path / "store", Inline, screen=True)
    assert summary.computed + summary.screened == summary.points == 180
    assert summary.screened > 20
    whole = run_study(plan, grid, Inline)
    assert whole.screened == whole.computed == 0
    for name in objectives:
        found, wanted = summary.best[name], whole.best[name]
        assert found and wanted
        assert found[name] == wanted[name]
    fronts = [
        {tuple(row[name] for name in objectives) for row in one.front} for one in (summary, whole)
    ]
    assert fronts[0] == fronts[1]
    assert bool(fronts[0]) == (len(objectives) > 1)
    store = open_store(tmp_path / "store")
    skipped = store.query("select * from screened").to_pylist()
    assert len({row["key"] for row in skipped} | store.keys()) == summary.points
    figures = {
        row["key"]: row for row in open_store(grid).query("select * from points").to_pylist()
    }
    for row in skipped:
        simulated = figures[row["key"]]
        assert (row["topology"], row["npu.peak_flops"]) == (
            simulated["topology"],
            simulated["npu.peak_flops"],
        )
        for name in objectives if simulated["error"] is None else ():
            assert row[f"bound.{name}"] <= simulated[name]


def test_no_simulated_point_is_below_its_bound(tmp_path: Path, grid: Path) -> None:
    plan = planned(tmp_path, SPACE, objectives=SEVERAL)
    numbers = plan.work().numbers
    least = plan.bounds(np.array([*numbers.values()]))
    figures = open_store(grid).figures(SEVERAL, numbers)
    assert len(figures) == 120
    rows = dict(zip(numbers, least.tolist(), strict=True))
    for key, found in figures.items():
        assert all(a <= b for a, b in zip(rows[key], found, strict=True))
    assert (least[:, :3] > 0).all()
    assert not least[:, 3].any()


def test_a_screened_run_that_is_interrupted_goes_on(tmp_path: Path, grid: Path) -> None:
    plan, store = planned(tmp_path, SPACE), create_store(tmp_path / "store")
    engine = Inline(3)
    with pytest.raises(StopError):
        run_study(plan, store.path, lambda: engine, screen=True)
    before = len(store.keys())
    assert before > 0
    summary = run_study(plan, store.path, Inline, screen=True)
    assert summary.computed + summary.screened + before == summary.points
    again = run_study(plan, store.path, Inline, screen=True)
    assert (again.computed, again.screened) == (0, summary.screened)
    whole = run_study(plan, store.path, Inline)
    assert whole.computed == summary.screened > 0
    assert store.query("select key from screened").num_rows == 0
    best, wanted = summary.best["time_per_sample_s"], whole.best["time_per_sample_s"]
    assert best and wanted
    assert best["time_per_sample_s"] == wanted["time_per_sample_s"]


def test_points_that_cannot_be_bounded_are_simulated(tmp_path: Path) -> None:
    space = {**SPACE, "strategy": "MP1-DP4-PP1", "strategy.ep": [3, 1]}
    plan = planned(tmp_path, space, objectives=ONE)
    numbers = np.array([*plan.work().numbers.values()])
    least = plan.bounds(numbers)[:, 0]
    refused = [not plan.point(int(number)).inputs for number in numbers]
    assert [one == 0.0 for one in least] == refused
    assert any(refused)


def test_points_come_in_the_order_of_their_bounds() -> None:
    numbers = np.array([10, 11, 12, 13, 14])
    screen = Screen(numbers, np.array([[3.0], [1.0], [2.0], [5.0], [4.0]]))
    found: list[int] = []
    for number in screen:
        found.append(number)
        if number == 12:
            screen.front.add([(3.5,)])
    assert found == [11, 12, 10]
    skipped, least = screen.skipped
    assert (skipped.tolist(), least[:, 0].tolist()) == ([14, 13], [4.0, 5.0])


def test_points_behind_a_chunk_that_is_left_out_are_yielded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(screens, "CHUNK", 2)
    # In the order of their sums, the second to the fourth are worse than the first in both.
    bounds = np.array([(1.0, 4.0), (2.0, 4.0), (2.0, 4.5), (2.5, 4.5), (8.0, 3.9)])
    screen = Screen(np.arange(5), bounds)
    yielded = []
    for number in screen:
        yielded.append(number)
        screen.front.add([tuple(bounds[number])])
    assert yielded == [0, 4]
    assert screen.skipped[0].tolist() == [1, 2, 3]
