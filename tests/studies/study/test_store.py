"""Tests of studies.study.store."""

import errno
import json
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from studies.study import store as stores
from studies.study.store import Store, create_store, migrate, open_store


def row(key: str, **figures: Any) -> dict[str, Any]:
    provenance = {"records": "r", "version": "v", "seed": 1, "host": "h", "duration_s": 0.5}
    return {"key": key, "error": None, **provenance, **figures}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = create_store(tmp_path / "store")
    found.append([row("a", x=1, **{"t.b": 2.5}), row("b", x=2.5, y="text")])
    found.append([row("c", x="odd")])
    return found


def test_rows_come_back_as_they_were(store: Store) -> None:
    assert store.keys() == {"a", "b", "c"}
    found = store.query('select key, x, y, "t.b", error from points order by key').to_pylist()
    assert [one["key"] for one in found] == ["a", "b", "c"]
    assert [(one["y"], one["t.b"], one["error"]) for one in found] == [
        (None, 2.5, None),
        ("text", None, None),
        (None, None, None),
    ]
    assert found[2]["x"] == "odd"
    assert open_store(store.path).keys() == store.keys()


def test_tables_have_a_row_for_each_point(store: Store) -> None:
    pytest.importorskip("polars")
    assert store.to_pandas().shape == store.to_polars().shape
    assert sorted(store.to_polars()["key"]) == ["a", "b", "c"]


def test_figures_are_those_of_the_keys_that_have_all_of_them(tmp_path: Path) -> None:
    store = create_store(tmp_path / "s")
    store.append([row("a", x=3.0, y=1.0), row("b", x=1.0, y=2.0), row("c", x=None, y=3.0)])
    store.append([row("d")])
    assert store.figures(("x", "y"), {"a", "c", "d"}) == {"a": (3.0, 1.0)}
    assert store.figures(("y",), {"a", "c", "d"}) == {"a": (1.0,), "c": (3.0,)}


def test_rows_are_in_the_order_of_their_keys(tmp_path: Path) -> None:
    store = create_store(tmp_path / "s")
    store.append([row("a", x=3.0), row("b", x=1.0)])
    store.append([row("d", y=2.0)])
    assert [one["key"] for one in store.rows(["d", "none", "a"])] == ["d", "a"]
    assert store.rows(["d", "a"], ["x"]) == [{"key": "d"}, {"key": "a", "x": 3.0}]
    assert store.rows([]) == []


def test_a_table_of_a_study_is_written_in_place_of_the_one_before(store: Store) -> None:
    for count in (3, 2):
        store.write_table("front", "one", {"key": ["a"] * count, "x": [1.0] * count})
    store.write_table("front", "other", {"key": ["b"], "y": ["text"]})
    found = store.query("select key, x, y from front order by key").to_pylist()
    assert [(one["key"], one["x"], one["y"]) for one in found] == [
        ("a", 1.0, None),
        ("a", 1.0, None),
        ("b", None, "text"),
    ]
    assert store.keys() == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        ("selec", "SQL: must be a query of points, not with: Parser Error: syntax error at or"),
        ("select nothing from points", "SQL: must be a query of points, not with: Binder Error"),
        ("", "SQL: must be one select statement, not ''"),
        ("drop view points", "SQL: must be one select statement, not 'drop view points'"),
        ("select 1; select 2", "SQL: must be one select statement"),
        ("copy points to 'x.csv'", "SQL: must be one select statement"),
        ("select * from '/etc/passwd'", "SQL: must be a query of points, not with: "),
        ("select * from read_text('/etc/passwd')", "SQL: must be a query of points, not with: "),
    ],
)
def test_wrong_queries_are_refused(store: Store, sql: str, line: str) -> None:
    before = {file: file.read_bytes() for file in store.files}
    with pytest.raises(InputError) as refused:
        store.query(sql)
    assert str(refused.value).startswith(line)
    assert before == {file: file.read_bytes() for file in store.files}


def test_an_empty_store_has_nothing_to_query(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must have a point, not none"):
        create_store(tmp_path / "s").query("select * from points")


def test_one_process_writes_a_store(store: Store) -> None:
    with (
        store.locked(),
        pytest.raises(InputError, match="must not be in use, not locked by another process"),
        Store(store.path).locked(),
    ):
        pass
    with store.locked():
        pass


def test_a_full_disk_leaves_what_was_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {file: file.read_bytes() for file in store.files}

    def fail(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(InputError, match=r"not with: No space left on device$"):
            store.append([row("d")])
    assert before == {file: file.read_bytes() for file in store.path.rglob("*.p*")}
    store.append([row("d")])
    assert store.keys() == {"a", "b", "c", "d"}


def test_what_a_killed_process_left_is_removed(store: Store) -> None:
    part = store.files[0].with_name("00000009.parquet.part")
    part.write_bytes(b"half of a file")
    assert store.keys() == {"a", "b", "c"}
    with store.locked():
        assert not part.exists()


def test_a_damaged_file_is_named(store: Store) -> None:
    store.files[0].write_bytes(b"PAR1 no longer")
    with pytest.raises(InputError, match=r"00000001\.parquet: must be a Parquet file of a store"):
        store.keys()


def test_another_folder_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(InputError, match="must be a store, an empty folder or a new name"):
            create_store(path)
    for path in (tmp_path, tmp_path / "none", tmp_path / "file"):
        with pytest.raises(InputError, match="must be the store of a study, not"):
            open_store(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@pytest.mark.parametrize("head", ["{}", "[]", "no JSON", '{"schema": "x"}', '{"schema": 0}'])
def test_a_bad_head_is_named(store: Store, head: str) -> None:
    (store.path / "store.json").write_text(head)
    with pytest.raises(InputError, match=r"store\.json: "):
        open_store(store.path)


def test_a_newer_store_is_refused(store: Store) -> None:
    (store.path / "store.json").write_text(json.dumps({"schema": stores.SCHEMA + 1}))
    for use in (open_store, create_store, migrate):
        with pytest.raises(InputError, match="schema: must be at most 1, not 2, which a newer"):
            use(store.path)


def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a second schema version, in which a column has another name."""

    def renamed(table: Any) -> Any:
        return table.rename_columns(["z" if n == "x" else n for n in table.column_names])

    monkeypatch.setattr(stores, "SCHEMA", 2)
    monkeypatch.setitem(stores.MIGRATIONS, 1, renamed)


def test_an_older_store_is_migrated(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write_table("front", "one", {"study": ["s.yaml"], "key": ["a"], "x": [1.0]})
    newer(monkeypatch)
    with pytest.raises(InputError, match="must have schema version 2, not 1; 'fred study migrate'"):
        open_store(store.path)
    assert migrate(store.path) == (1, 2)
    assert migrate(store.path) == (2, 2)
    found = open_store(store.path).query("select key, z from points order by key")
    assert found["key"].to_pylist() == ["a", "b", "c"]
    assert open_store(store.path).query("select z from front").to_pylist() == [{"z": 1.0}]
    assert sorted(path.name for path in store.path.glob("*-*")) == ["rows-2", "tables-2"]


def compression(file: Any) -> str:
    parquet: Any = import_module("pyarrow.parquet")
    return parquet.ParquetFile(file).metadata.row_group(0).column(0).compression


def test_all_files_are_compressed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    exported = stores.parquet_bytes(store.query("select * from points"))
    assert compression(BytesIO(exported)) == "ZSTD"
    store.write_table("front", "one", {"key": ["a"]})
    newer(monkeypatch)
    for _ in range(2):
        assert {compression(file) for file in store.path.glob("*/*.parquet")} == {"ZSTD"}
        migrate(store.path)


def test_a_migration_that_ends_halfway_begins_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer(monkeypatch)
    whole, calls = stores.MIGRATIONS[1], 0

    def fail_at_the_second_file(table: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(table)

    monkeypatch.setitem(stores.MIGRATIONS, 1, fail_at_the_second_file)
    with pytest.raises(InputError, match="No space left"):
        migrate(store.path)
    assert json.loads((store.path / "store.json").read_text()) == {"schema": 1}
    assert migrate(store.path) == (1, 2)
    assert open_store(store.path).keys() == {"a", "b", "c"}
