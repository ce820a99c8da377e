"""Tests of studies.study.run."""

import errno
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fred_hw.errors import InputError
from fred_hw.progress import listening
from studies.study import run as runs
from studies.study.point import OtherVersionError
from studies.study.run import Progress, run_study
from studies.study.store import Store, create_store

from .engines import Inline, StopError
from .studies import SPACE, planned, rows_of


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Rows of a run that nothing interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    store = create_store(folder / "store")
    summary = run_study(planned(folder), store.path, Inline)
    assert (summary.points, summary.computed, summary.failed) == (12, 12, 0)
    return rows_of(store)


def test_a_run_has_a_row_for_each_point(whole: list[dict[str, Any]]) -> None:
    assert len({row["key"] for row in whole}) == 12
    points = {(row["topology"], row["strategy"], row["npu.peak_flops"]) for row in whole}
    assert len(points) == 12
    assert all(row["iteration_time_s"] > 0 for row in whole)


@settings(max_examples=8, deadline=None)
@given(stops=st.lists(st.integers(0, 5), max_size=3))
def test_a_run_that_is_interrupted_and_resumed_is_as_one(
    whole: list[dict[str, Any]], stops: list[int]
) -> None:
    with TemporaryDirectory() as folder:
        plan, store = planned(Path(folder)), create_store(Path(folder) / "store")
        for batches in stops:
            engine = Inline(batches)
            try:
                run_study(plan, store.path, lambda engine=engine: engine)
            except StopError:
                assert engine.closed
        run_study(plan, store.path, Inline)
        assert rows_of(store) == whole


def test_what_is_there_is_not_computed_again(tmp_path: Path) -> None:
    store = create_store(tmp_path / "store")
    some = {**SPACE, "npu.peak_flops": [2e15]}
    assert run_study(planned(tmp_path, some), store.path, Inline).computed == 4
    assert run_study(planned(tmp_path), store.path, Inline).computed == 8
    engine = Inline()
    summary = run_study(planned(tmp_path), store.path, lambda: engine)
    assert engine.sizes == []
    assert (summary.points, summary.computed) == (12, 0)
    best = summary.best["time_per_sample_s"]
    assert best
    assert best["npu.peak_flops"] == 4e15
    small = run_study(planned(tmp_path, some), store.path, Inline).best["time_per_sample_s"]
    assert small
    assert small["npu.peak_flops"] == 2e15


@pytest.mark.parametrize("screen", [False, True])
def test_time_and_energy_have_a_front(
    tmp_path: Path, whole: list[dict[str, Any]], screen: bool
) -> None:
    names = ("time_per_sample_s", "energy.total_j")
    plan = planned(tmp_path, objectives=[*names])
    summary = run_study(plan, tmp_path / "store", Inline, screen=screen)
    for name in names:
        best = summary.best[name]
        assert best and best[name] == min(row[name] for row in whole)
        assert best[name] == min(row[name] for row in summary.front)


def test_failures_are_rows_and_counted(tmp_path: Path) -> None:
    store, told, bar = create_store(tmp_path / "store"), list[Progress](), list[str]()
    space = {**SPACE, "strategy": ["MP1-DP4-PP1", "MP1-DP8-PP1"]}
    with listening(lambda what, *_: bar.append(what)):
        summary = run_study(planned(tmp_path, space), store.path, Inline, told.append)
    assert bar[-1] == "points, 6 failed"
    assert (summary.computed, summary.failed) == (12, 6)
    errors = store.query("select error from points where error is not null")["error"].to_pylist()
    assert len(errors) == 6
    assert all("must fit the 4 NPUs" in error for error in errors)
    assert (told[-1].done, told[-1].total, told[-1].failed) == (12, 12, 6)
    assert told[-1].remaining_s == 0.0
    assert [one.done for one in told] == sorted(one.done for one in told)


def test_points_that_failed_are_computed_again_on_request(
    tmp_path: Path, whole: list[dict[str, Any]]
) -> None:
    plan, store = planned(tmp_path), create_store(tmp_path / "store")
    poison = [plan.point(number) for number in (0, 7)]
    summary = run_study(plan, store.path, lambda: Inline(poison=poison))
    assert (summary.computed, summary.failed) == (12, 2)
    assert run_study(plan, store.path, Inline).computed == 0
    some = {**SPACE, "topology": "mesh:2x2"}  # other studies of the store keep their rows
    summary = run_study(planned(tmp_path, some), store.path, Inline, retry_failed=True)
    assert (summary.computed, summary.failed) == (1, 0)
    summary = run_study(plan, store.path, Inline, retry_failed=True)
    assert (summary.computed, summary.failed) == (1, 0)
    assert rows_of(store) == whole


def test_progress_counts_points_of_the_space_and_screened_points(tmp_path: Path) -> None:
    told = list[tuple[str, int, int | None]]()
    with listening(lambda what, done, total, _: told.append((what, done, total))):
        run_study(planned(tmp_path), tmp_path / "store", Inline, screen=True)
    for what in ("points of the space", "points screened"):
        assert [one[1:] for one in told if one[0] == what] == [(0, 12), (12, 12)]


def test_a_full_disk_ends_the_run_and_a_later_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: list[dict[str, Any]]
) -> None:
    plan, store = planned(tmp_path), create_store(tmp_path / "store")
    monkeypatch.setattr(runs, "COMMIT_ROWS", 1)
    real, calls = Store.append, 0

    def append(self: Store, rows: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            with monkeypatch.context() as patch:
                patch.setattr("os.fsync", _full)
                real(self, rows)
        real(self, rows)

    monkeypatch.setattr(Store, "append", append)
    with pytest.raises(InputError, match=r"not with: No space left on device$"):
        run_study(plan, store.path, Inline)
    assert 0 < len(store.keys()) < 12
    run_study(plan, store.path, Inline)
    assert rows_of(store) == whole


def _full(_descriptor: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_locked_store_is_left_alone(tmp_path: Path) -> None:
    plan, store = planned(tmp_path), create_store(tmp_path / "store")
    with store.locked(), pytest.raises(InputError, match="locked by another process"):
        run_study(plan, store.path, Inline)
    assert store.files == []


def test_a_worker_of_another_version_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, store = planned(tmp_path), create_store(tmp_path / "store")

    def evaluate_batch(_version: str, _points: object) -> None:
        raise OtherVersionError("9.9+other", "host")

    monkeypatch.setattr(runs, "evaluate_batch", evaluate_batch)
    line = r"^worker: must be of version 0\.\S+, not 9\.9\+other as on host$"
    with pytest.raises(InputError, match=line):
        run_study(plan, store.path, Inline)
    assert store.files == []


def test_batches_grow_with_the_speed_of_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "BATCH_S", 60.0)  # however slow the machine
    engine = Inline()
    space = {**SPACE, "npu.peak_flops": {"range": [1e15, 2e15], "step": 2e13}}
    run_study(planned(tmp_path, space), tmp_path / "s", lambda: engine)
    assert engine.sizes[0] == 1
    assert max(engine.sizes) > 4
    assert sum(engine.sizes) == 204


def test_a_study_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    def engine() -> Inline:
        raise InputError("--scheduler", "", "must answer")

    for plan, line in (
        (planned(tmp_path, constraints=["npus > 4"]), "must leave a point"),
        (planned(tmp_path), "must answer"),
    ):
        with pytest.raises(InputError, match=line):
            run_study(plan, tmp_path / "store", engine)
        assert not (tmp_path / "store").exists()
