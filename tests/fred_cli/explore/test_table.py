"""Tests of fred_cli.explore.table."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fred_cli.explore.table import Source, Table, text
from fred_hw.errors import InputError
from studies.study.store import Store, open_store

from .stores import table_of


def test_columns_that_vary_are_inputs_and_then_figures(table: Table) -> None:
    kinds = [table.is_input(name) for name in table.varied]
    assert kinds == sorted(kinds, reverse=True)
    assert table.varied[0] == "topology"
    assert {"strategy", "npu.peak_flops", "topology.io_bytes_per_s"} <= set(table.varied)
    assert {"time_per_sample_s", "energy.total_j"} <= set(table.varied)
    assert not {"key", "error", "host", "duration_s", "workload"} & set(table.varied)
    assert not table.is_input("energy.total_j") and table.is_input("energy")


def test_inputs_of_switches_are_inputs(tmp_path: Path) -> None:
    names = ("specification", "specification.lanes", "level", "effort", "simulator", "liberty")
    rows: list[dict[str, Any]] = [dict.fromkeys((*names, "area_um2"), text) for text in ("a", "b")]
    table = table_of(tmp_path / "s", rows)
    assert {name for name in table.varied if table.is_input(name)} == {*names}
    assert table.varied[-1] == "area_um2"


def test_inputs_of_traces_are_inputs(tmp_path: Path) -> None:
    names = ("traces", "network", "system", "remote_memory", "groups", "num_queues_per_dim")
    rows: list[dict[str, Any]] = [dict.fromkeys((*names, "total_ns"), at) for at in (1, 2)]
    table = table_of(tmp_path / "s", rows)
    assert {name for name in table.varied if table.is_input(name)} == {*names}
    assert table.varied[-1] == "total_ns"


def test_the_seed_of_a_switch_is_shown(tmp_path: Path) -> None:
    rows = [{"specification": "tiny-2", "seed": seed, "tests_failed": 0} for seed in (1, 2)]
    assert table_of(tmp_path / "s", rows).varied == ("seed", "tests_failed")


def test_columns_of_provenance_are_not_shown(tmp_path: Path) -> None:
    first = {
        "version": "1",
        "seed": 1,
        "host": "a",
        "duration_s": 1.0,
        "records": "c",
        "error": "e",
    }
    second = {"version": "2", "seed": 2, "host": "b", "duration_s": 2.0, "records": "d"}
    table = table_of(tmp_path / "s", [{**first, "a": 1}, {**second, "a": 2}])
    assert table.varied == ("a",)


def test_values_that_are_missing_are_not_a_number_or_none(tmp_path: Path) -> None:
    table = table_of(tmp_path / "s", [{"a": 2, "b": "x"}, {"a": 1}], [{"b": "y"}])
    assert len(table) == 3
    np.testing.assert_array_equal(table.numbers("a"), [2, 1, np.nan])
    codes, names = table.codes("b")
    assert [names[code] for code in codes] == ["x", "none", "y"] and names[-1] == "none"
    assert table.order("a").tolist() == [1, 0, 2]
    row = table.row(1)
    assert (row["a"], row["key"], "b" in row) == (1, f"{1:032x}", False)
    assert (table.distinct("a"), table.distinct("b")) == (3, 3)
    assert table.rows([], ("key", "b")) == []
    assert len(table.take([])) == 0


def test_rows_that_a_run_adds_are_read(tmp_path: Path) -> None:
    row = table_of(tmp_path / "s", [{"a": 1}]).row(0)
    store = open_store(tmp_path / "s")
    source = Source(store)
    first = source.table()
    assert source.table() is first
    with store.locked():  # a run holds the lock as long as it writes
        store.append([{**row, "key": "other", "error": None, "records": None}])
        assert list(source.table().keys) == [row["key"], "other"]
    assert len(first) == 1


def test_rows_that_a_run_removes_to_compute_them_again_are_read(tmp_path: Path) -> None:
    table_of(tmp_path / "s", [{"error": "must fit"}, {"a": 1}])
    store = open_store(tmp_path / "s")
    source = Source(store)
    [failed, row] = [source.table().row(place) for place in range(2)]
    with store.locked():
        store.remove_failed([failed["key"]])
        assert list(source.table().keys) == [row["key"]]
        store.append([{**row, "key": failed["key"], "error": None, "records": None}])
        assert list(source.table().keys) == [row["key"], failed["key"]]


def test_a_store_whose_points_are_all_computed_again_is_refused(tmp_path: Path) -> None:
    key = table_of(tmp_path / "s", [{"error": "must fit"}]).row(0)["key"]
    store = open_store(tmp_path / "s")
    store.remove_failed([key])
    with pytest.raises(InputError, match=r"s: must have a point, not none$"):
        Source(store).table()


def test_values_are_said_as_files_have_them() -> None:
    assert [text(one) for one in (None, True, 3, 2.5e15, "a")] == [
        *("none", "true", "3", "2.5e+15", "a")
    ]


def test_store_is_left_as_it_is(store: Store, table: Table) -> None:
    before = sorted(path.name for path in store.path.rglob("*"))
    Source(store).table()
    assert sorted(path.name for path in store.path.rglob("*")) == before
