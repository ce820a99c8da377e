"""Tests of studies.study.optimize."""

import errno
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from fred_hw.progress import listening
from studies.study.optimize import Budget, optimize_study
from studies.study.run import Summary, run_study
from studies.study.store import create_store
from studies.study.traces import TRACES

from .engines import Inline, StopError
from .studies import planned

pytest.importorskip("optuna")

TWO = ["time_per_sample_s", "memory.total_bytes"]
STRATEGIES = {
    "topology": ["mesh:2x2", "mesh:4x1"],
    "workload": "resnet-50",
    "strategy.dp": [1, 2, 4],
    "strategy.pp": [1, 2, 4],
    "workload.samples_per_replica": [4, 8, 16],
    "npu.peak_flops": [1e15, 2e15, 4e15],
}
BATCHES = {
    "topology": "mesh:2x2",
    "topology.link_bytes_per_s": {"log_range": [1e9, 1e12], "points": 4},
    "workload": ["resnet-50", "gnmt"],
    "workload.samples_per_replica": [8, 16, 32, 64],
    "strategy": ["MP1-DP4-PP1", "MP1-DP2-PP2", "MP1-DP1-PP4"],
}
CASES = {
    "strategies": (STRATEGIES, {"constraints": ["npus == mp * dp * pp"]}),
    "batches": (BATCHES, {}),
}


def volume(front: list[dict[str, Any]], corner: tuple[float, float]) -> float:
    """Return the area between a front of two objectives and a corner that it reaches."""
    points = sorted(tuple(row[name] for name in TWO) for row in front)
    found, edge = 0.0, corner[1]
    for first, second in points:
        found += (corner[0] - first) * max(edge - second, 0.0)
        edge = min(edge, second)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_front_of_a_small_grid_is_found(tmp_path: Path, case: str) -> None:
    space, keys = CASES[case]
    plan = planned(tmp_path, space, objectives=TWO, **keys)
    grid = run_study(plan, tmp_path / "grid", Inline)
    found = optimize_study(plan, tmp_path / "store", Budget(grid.points * 2 // 3), Inline)
    assert found.points <= grid.points * 2 // 3
    rows = [*grid.front, *found.front]
    first, second = (1.1 * max(row[name] for row in rows) for name in TWO)
    assert volume(found.front, (first, second)) > 0.97 * volume(grid.front, (first, second))


@pytest.mark.slow
def test_the_best_point_of_a_small_grid_is_found_early(tmp_path: Path) -> None:
    plan = planned(tmp_path, STRATEGIES, constraints=["npus == mp * dp * pp"])
    grid = run_study(plan, tmp_path / "grid", Inline).best["time_per_sample_s"]
    found = optimize_study(plan, tmp_path / "store", Budget(points=18), Inline)
    best = found.best["time_per_sample_s"]
    assert best and grid
    assert found.points <= 18
    assert best["time_per_sample_s"] == grid["time_per_sample_s"]


@pytest.mark.parametrize(
    ("objectives", "sampler"),
    [(TWO[:1], "TPESampler"), (TWO, "NSGAIISampler")],
    ids=["one_objective", "two_objectives"],
)
def test_proposals_are_those_of_the_documented_sampler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objectives: list[str], sampler: str
) -> None:
    optuna: Any = import_module("optuna")
    real, made = optuna.create_study, list[Any]()

    def create(**options: Any) -> Any:
        made.append(real(**options))
        return made[-1]

    monkeypatch.setattr(optuna, "create_study", create)
    plan = planned(tmp_path, SMALL, objectives=objectives)
    optimize_study(plan, tmp_path / "store", Budget(points=2), Inline)
    assert [type(study.sampler).__name__ for study in made] == [sampler]


SMALL = {**STRATEGIES, "npu.peak_flops": [1e15], "workload.samples_per_replica": [4]}


def test_a_search_that_is_interrupted_goes_on(tmp_path: Path) -> None:
    plan, store = planned(tmp_path, SMALL, objectives=TWO), create_store(tmp_path / "store")
    engine = Inline(3)
    with pytest.raises(StopError):
        optimize_study(plan, store.path, Budget(points=10), lambda: engine)
    before = len(store.keys())
    assert before > 0
    found = optimize_study(plan, store.path, Budget(points=10), Inline)
    assert found.points + found.screened >= 10
    assert len(store.keys()) == found.points > before
    again = optimize_study(plan, store.path, Budget(points=10), Inline)
    assert (again.points, again.computed) == (found.points, 0)
    assert again.front == found.front


def test_a_search_ends_when_it_has_had_all_points(tmp_path: Path) -> None:
    plan = planned(tmp_path, SMALL, constraints=["dp * pp <= 8"])
    found = optimize_study(plan, tmp_path / "store", Budget(points=1000), Inline)
    assert found.points + found.screened == 16
    assert found.screened > 0
    assert sum(found.excluded.values()) == 2


@pytest.mark.parametrize("objectives", [TWO[:1], TWO], ids=["one_objective", "two_objectives"])
def test_a_search_without_bounds_computes_points_until_it_has_had_all(
    tmp_path: Path, objectives: list[str]
) -> None:
    """As of traces and switches, of which no bounds are known."""
    plan = planned(tmp_path, SMALL, objectives=objectives)
    plan = replace(plan, kind=replace(plan.kind, bounds=TRACES.bounds))
    some = optimize_study(plan, tmp_path / "store", Budget(points=7), Inline)
    assert (some.points, some.screened) == (7, 0)
    found = optimize_study(plan, tmp_path / "store", Budget(points=1000), Inline)
    assert (found.points, found.computed, found.screened) == (18, 11, 0)


def test_points_of_the_store_are_not_computed_again(tmp_path: Path) -> None:
    plan = planned(tmp_path, SMALL)
    run_study(plan, tmp_path / "store", Inline)
    found = optimize_study(plan, tmp_path / "store", Budget(points=1000), Inline)
    assert found.computed == 0 < found.points


def test_a_search_keeps_the_front_and_the_speedups_of_an_earlier_run(tmp_path: Path) -> None:
    def tables() -> list[list[dict[str, Any]]]:
        names = ("front", "speedups")
        return [store.query(f"select * from {name} order by key").to_pylist() for name in names]

    plan = planned(tmp_path, SMALL, objectives=TWO, baseline="mesh:2x2")
    store = create_store(tmp_path / "store")
    whole = run_study(plan, store.path, Inline)
    before = tables()
    assert len(before[0]) > 1 and len(before[1]) > 1
    found = optimize_study(plan, store.path, Budget(points=1), Inline)
    assert (found.front, found.best) == (whole.front, whole.best)
    assert tables() == before


def test_a_search_leaves_out_points_of_a_front_whose_inputs_have_changed(tmp_path: Path) -> None:
    space = {**SMALL, "topology": ["mesh.yaml"]}
    mesh = tmp_path / "mesh.yaml"
    mesh.write_text("kind: mesh\ncolumns: 2\nrows: 2\n")
    store = create_store(tmp_path / "store")
    run_study(planned(tmp_path, space, objectives=TWO), store.path, Inline)
    mesh.write_text("kind: mesh\ncolumns: 2\nrows: 2\nlink_bytes_per_s: 1.0e+9\n")
    plan = planned(tmp_path, space, objectives=TWO)
    optimize_study(plan, store.path, Budget(points=1), Inline)
    assert store.query("select count(*) as n from front").to_pylist() == [{"n": 1}]


def test_a_search_begins_anew_when_an_input_has_changed(tmp_path: Path) -> None:
    space = {**SMALL, "topology": ["mesh.yaml", "mesh:4x1"]}
    mesh, store = tmp_path / "mesh.yaml", create_store(tmp_path / "store")

    def search() -> Summary:
        return optimize_study(planned(tmp_path, space), store.path, Budget(points=1000), Inline)

    mesh.write_text("kind: mesh\ncolumns: 2\nrows: 2\n")
    first = search()
    before = store.keys()
    mesh.write_text("kind: mesh\ncolumns: 2\nrows: 2\nlink_bytes_per_s: 1.0e+14\n")
    found = search()
    assert len(store.keys() - before) == found.computed > 0
    grid = run_study(planned(tmp_path, space), tmp_path / "grid", Inline)
    best, expected = (one.best["time_per_sample_s"] for one in (found, grid))
    assert best and expected and best["key"] == expected["key"]
    again = search()
    assert (again.points, again.computed, again.best) == (found.points, 0, found.best)
    mesh.write_text("kind: mesh\ncolumns: 2\nrows: 2\n")
    assert search().best == first.best  # of rows that the store still has


def test_points_whose_rows_were_not_written_are_not_counted(tmp_path: Path) -> None:
    """A process that is killed leaves proposals whose rows it did not write yet."""
    plan, store = planned(tmp_path, SMALL), create_store(tmp_path / "store")
    first = optimize_study(plan, store.path, Budget(points=4), Inline)
    for file in store.files[1:]:
        file.unlink()
    left = len(store.keys())
    assert left < first.points == 4
    found = optimize_study(plan, store.path, Budget(points=4), Inline)
    assert (found.points, found.computed) == (4, 4 - left)
    assert len(store.keys()) == 4


def test_a_search_without_a_point_names_the_constraint(tmp_path: Path) -> None:
    plan = planned(tmp_path, SMALL, constraints=["dp >= 1", "pp == 3"])
    line = r"constraints\.1: must leave a point, not remove all 18 that were tried: pp == 3$"
    with pytest.raises(InputError, match=line):
        optimize_study(plan, tmp_path / "store", Budget(), Inline)


def test_a_search_ends_after_its_time(tmp_path: Path) -> None:
    found = optimize_study(
        planned(tmp_path, STRATEGIES), tmp_path / "store", Budget(None, 1e-9), Inline
    )
    assert found.points == 0


@pytest.mark.parametrize("text", ["no journal\n", "[]\n", "{}\n", "\xff\n"], ids=range(4))
def test_a_damaged_journal_is_named(tmp_path: Path, text: str) -> None:
    plan, store = planned(tmp_path, SMALL), create_store(tmp_path / "store")
    (store.path / "optuna.log").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=r"store/optuna\.log: must be a journal of Optuna"):
        optimize_study(plan, store.path, Budget(points=1), Inline)


@pytest.mark.parametrize("writes", [0, 3, 14])
def test_a_full_disk_ends_the_search_and_a_later_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    journal: Any = import_module("optuna.storages.journal")
    plan, store, done = planned(tmp_path, SMALL), create_store(tmp_path / "store"), 0
    real = journal.JournalFileBackend.append_logs

    def append(self: Any, logs: Any) -> None:
        nonlocal done
        if (done := done + 1) > writes:
            with (store.path / "optuna.log").open("a") as file:
                file.write('{"op_')  # as much as there was room for
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, logs)

    with monkeypatch.context() as patch:
        patch.setattr(journal.JournalFileBackend, "append_logs", append)
        line = r"store: must be a folder that can be written, not with: No space left on device$"
        with pytest.raises(InputError, match=line):
            optimize_study(plan, store.path, Budget(points=4), Inline)
    assert optimize_study(plan, store.path, Budget(points=4), Inline).points == 4


def test_a_search_leaves_a_locked_store_alone(tmp_path: Path) -> None:
    plan, store = planned(tmp_path, SMALL), create_store(tmp_path / "store")
    with store.locked(), pytest.raises(InputError, match="locked by another process"):
        optimize_study(plan, store.path, Budget(points=1), Inline)
    assert not (store.path / "optuna.log").exists()


def test_proposals_do_not_depend_on_the_speed_of_the_machine(tmp_path: Path) -> None:
    """A batch of more than one point would be as large as points are fast."""
    engine = Inline()
    plan = planned(tmp_path, SMALL)
    found = optimize_study(plan, tmp_path / "store", Budget(points=12), lambda: engine)
    assert found.computed > 4
    assert engine.sizes == [1] * found.computed


def test_progress_does_not_count_each_bound(tmp_path: Path) -> None:
    plan, told = planned(tmp_path, SMALL, constraints=["pp < 4"]), set[str]()
    with listening(lambda what, *_: told.add(what)):
        found = optimize_study(plan, tmp_path / "store", Budget(points=1000), Inline)
    assert found.computed > 0
    assert not [what for what in told if what.startswith("points screened")]
