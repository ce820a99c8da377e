"""Stores of studies: folders of Parquet files with one row per point."""

import json
import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from shutil import rmtree
from typing import Any, cast

from fred_hw.errors import InputError
from fred_hw.optional import needed

from .point import Row

__all__ = [
    "MIGRATIONS",
    "PROVENANCE",
    "SCHEMA",
    "Store",
    "check_store",
    "create_store",
    "migrate",
    "not_written",
    "open_store",
    "parquet_bytes",
]

SCHEMA = 1
"""Version of the columns and of the folder layout."""

TABLES = ("screened", "front", "speedups")
"""Tables of studies in a store: points left out, Pareto fronts, and speed-ups over a baseline."""

MIGRATIONS: dict[int, Callable[[Any], Any]] = {}
"""Functions that convert a ``pyarrow.Table`` to the next version, keyed by version.

The table has rows of points, or is one of ``TABLES`` and has some of the columns of points."""

_HEAD = "store.json"
_LOCK = "lock"

PROVENANCE = {
    "key": "string",
    "error": "string",
    "records": "string",
    "version": "string",
    "seed": "int64",
    "host": "string",
    "duration_s": "float64",
}
"""Columns of every file, with types: identity of a row, and how it was computed.

All other columns follow from the inputs."""


class Store:
    """The rows of a study.

    Parameters
    ----------
    path : Path
        The folder, which has a ``store.json`` of this schema version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def files(self) -> list[Path]:
        """The Parquet files, in order of their names."""
        return sorted(_rows_folder(self.path, SCHEMA).glob("*.parquet"))

    @property
    def state(self) -> list[tuple[str, int, int]]:
        """Value that changes whenever a file of rows is added or replaced."""
        found = ((file.name, file.stat()) for file in self.files)
        return [(name, one.st_ino, one.st_mtime_ns) for name, one in found]

    def keys(self) -> set[str]:
        """Return the keys of all points that have rows.

        Raises
        ------
        InputError
            A file of the store is damaged.
        """
        return {key for file in self.files for key in _read(file, ["key"])["key"].to_pylist()}

    def append(self, rows: Sequence[Row]) -> None:
        """Append rows atomically: all of them, or none if the process fails.

        Raises
        ------
        InputError
            The rows cannot be written, as on a full disk.
        """
        number = max((int(file.stem) for file in self.files), default=0) + 1
        self._write(_rows_folder(self.path, SCHEMA) / f"{number:08d}.parquet", _table(rows))

    def remove_failed(self, keys: Collection[str]) -> None:
        """Remove the rows with the given keys that have an error.

        Raises
        ------
        InputError
            As for :meth:`append`, or a file of the store is damaged.
        """
        for file in self.files:
            found = _read(file, ["key", "error"]).to_pydict()
            failed = zip(found["key"], found["error"], strict=True)
            left = [error is None or key not in keys for key, error in failed]
            if not all(left):
                self._write(file, _read(file).filter(left))

    def figures(self, names: Sequence[str], keys: Collection[str]) -> dict[str, tuple[Any, ...]]:
        """Return figures of the points with the given keys, where all of the figures exist."""
        found: dict[str, tuple[Any, ...]] = {}
        for file in self.files:
            if not set(names) <= set(_parquet().read_schema(file).names):
                continue
            table = _read(file, ["key", *names]).to_pydict()
            for key, *figures in zip(table["key"], *(table[name] for name in names), strict=True):
                if key in keys and None not in figures:
                    found[key] = tuple(figures)
        return found

    def rows(self, keys: Sequence[str], columns: Sequence[str] | None = None) -> list[Row]:
        """Return the rows with the given keys in their order; all columns if None."""
        compute: Any = import_module("pyarrow.compute")
        wanted, found = import_module("pyarrow").array(keys, "string"), dict[str, Row]()
        for file in self.files:
            inside = compute.is_in(_read(file, ["key"])["key"], wanted)
            if not compute.any(inside).as_py():
                continue
            there = _parquet().read_schema(file).names
            names = None if columns is None else ["key", *(one for one in columns if one in there)]
            for row in _read(file, names).filter(inside).to_pylist():
                found[row["key"]] = row
        return [found[key] for key in keys if key in found]

    def write_table(self, name: str, study: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write a table of a study, replacing an existing one.

        Parameters
        ----------
        name : str
            One of ``TABLES``, by which queries know the table.
        study : str
            Distinguishes the study.
        columns : mapping
            Values by column.

        Raises
        ------
        InputError
            As for :meth:`append`.
        """
        arrow = import_module("pyarrow")
        table: Any = arrow.table({one: _array(arrow, values) for one, values in columns.items()})
        self._write(self._table_file(name, study), table)

    def clear_table(self, name: str, study: str) -> None:
        """Remove the rows of a table of a study, if the study has the table.

        Raises
        ------
        InputError
            As for :meth:`append`, or the file of the table is damaged.
        """
        if (table := self._read_table(name, study)) and table.num_rows:
            self._write(self._table_file(name, study), table.slice(0, 0))

    def table_columns(self, name: str, study: str, columns: Sequence[str]) -> list[list[Any]]:
        """Return columns of a table of a study; empty ones if it has no such table or columns.

        Raises
        ------
        InputError
            The file of the table is damaged.
        """
        table = self._read_table(name, study)
        if table is None or not {*columns} <= {*table.column_names}:
            return [[] for _ in columns]
        return [table[one].to_pylist() for one in columns]

    def _table_file(self, name: str, study: str) -> Path:
        return _tables_folder(self.path, SCHEMA) / f"{name}-{study}.parquet"

    def _read_table(self, name: str, study: str) -> Any:
        """Return a table of a study; None if there is none."""
        file = self._table_file(name, study)
        return _read(file, needed_columns=("key",)) if file.exists() else None

    def _write(self, file: Path, table: Any) -> None:
        """Write a file of the store atomically."""
        try:
            file.parent.mkdir(exist_ok=True)
            _commit(file, lambda path: _write_parquet(table, path))
        except OSError as error:
            raise not_written(self.path, error) from None

    @contextmanager
    def locked(self) -> Generator[None]:
        """Lock the store against other writers, and remove leftovers of killed processes.

        Raises
        ------
        InputError
            Another process writes.
        """
        with needed("filelock", "studies", "fred-hw[study]"):
            filelock: Any = import_module("filelock")
        lock = filelock.FileLock(self.path / _LOCK, timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            message = "must not be in use, not locked by another process that writes it"
            raise InputError(str(self.path), "", message) from None
        except OSError as error:
            raise not_written(self.path, error) from None
        try:
            for left in self.path.glob("**/*.part"):
                left.unlink()
            yield
        finally:
            lock.release()

    def query(self, sql: str) -> Any:
        """Return the result of an SQL query as a ``pyarrow.Table``.

        Parameters
        ----------
        sql : str
            A ``select`` of DuckDB on the view ``points`` and on those of ``TABLES``. Columns with
            a point in their name are quoted, as in ``"topology.l1_l2_bytes_per_s"``.

        Raises
        ------
        InputError
            It is no such query, a file of the store is damaged, or DuckDB is not installed.
        """
        with needed("duckdb", "queries", "fred-hw[study]"):
            duckdb: Any = import_module("duckdb")
        if not (files := [str(file) for file in self.files]):
            raise InputError(str(self.path), "", "must have a point, not none")
        for file in self.files:
            _read(file, ["key"])
        views = {"points": files}
        for name in TABLES:
            tables = sorted(_tables_folder(self.path, SCHEMA).glob(f"{name}-*.parquet"))
            views |= {name: [str(file) for file in tables]} if tables else {}
        lists = {name: ", ".join(map(_quoted, files)) for name, files in views.items()}
        connection = duckdb.connect(":memory:")
        try:
            for name, one in lists.items():
                rows = f"read_parquet([{one}], union_by_name=true)"
                connection.execute(f"create view {name} as select * from {rows}")
            # A query reads the store, and nothing else.
            connection.execute(f"set allowed_paths=[{', '.join(lists.values())}]")
            connection.execute("set enable_external_access=false")
            connection.execute("set lock_configuration=true")
            statements = connection.extract_statements(sql)
            if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
                raise InputError("SQL", "", f"must be one select statement, not {sql!r:.100}")
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            said = str(error).split("\n\n")[0]
            raise InputError("SQL", "", f"must be a query of points, not with: {said}") from None
        finally:
            connection.close()

    def to_pandas(self) -> Any:
        """Return all rows as a ``pandas.DataFrame``.

        Raises
        ------
        InputError
            The store is empty, or pandas is not installed.
        """
        with needed("pandas", "tables", "fred-hw[tables]"):
            import_module("pandas")
        return self.query("select * from points").to_pandas()

    def to_polars(self) -> Any:
        """Return all rows as a ``polars.DataFrame``.

        Raises
        ------
        InputError
            The store is empty, or polars is not installed.
        """
        with needed("polars", "tables of polars", "polars"):
            polars: Any = import_module("polars")
        return polars.from_arrow(self.query("select * from points"))


def check_store(path: Path) -> None:
    """Fail if a folder is neither a store nor a place where one can be created.

    Raises
    ------
    InputError
        The folder holds something else, or a store of another schema version.
    """
    if (path / _HEAD).exists():
        open_store(path)
    elif path.exists() and not (path.is_dir() and not any(path.iterdir())):
        message = "must be a store, an empty folder or a new name, not something else"
        raise InputError(str(path), "", message)


def create_store(path: Path) -> Store:
    """Return the store in a folder, created if it does not exist.

    Raises
    ------
    InputError
        As for :func:`check_store`, or the folder cannot be made.
    """
    _parquet()
    check_store(path)
    if not (path / _HEAD).exists():
        try:
            path.mkdir(parents=True, exist_ok=True)
            _write_head(path, SCHEMA)
        except OSError as error:
            raise not_written(path, error) from None
    return open_store(path)


def open_store(path: Path) -> Store:
    """Return an existing store.

    Raises
    ------
    InputError
        There is none, or it has another schema version.
    """
    _parquet()
    schema = _schema_of(path)
    if schema != SCHEMA:
        message = (
            f"must have schema version {SCHEMA}, not {schema}; 'fred study migrate' changes it"
        )
        raise InputError(str(path), "", message)
    return Store(path)


def migrate(path: Path) -> tuple[int, int]:
    """Migrate a store to the current schema version; return the old and the new version.

    The old files are removed after all new ones are there, so a store is valid at any moment.

    Raises
    ------
    InputError
        There is no store, it is of a newer version, or it cannot be written.
    """
    _parquet()
    before = _schema_of(path)
    store = Store(path)
    with store.locked():
        try:
            for version in range(before, SCHEMA):
                folders = [
                    [folder(path, one) for one in (version, version + 1)]
                    for folder in (_rows_folder, _tables_folder)
                ]
                for old, new in folders:
                    rmtree(new, ignore_errors=True)  # left by a process that ended in between
                    new.mkdir()
                    for file in sorted(old.glob("*.parquet")):
                        table = MIGRATIONS[version](_read(file, needed_columns=("key",)))
                        _commit(new / file.name, lambda to, t=table: _write_parquet(t, to))
                _write_head(path, version + 1)
                for old, _ in folders:
                    rmtree(old, ignore_errors=True)
        except OSError as error:
            raise not_written(path, error) from None
    return before, SCHEMA


def parquet_bytes(table: Any) -> bytes:
    """Return the rows of a ``pyarrow.Table`` as the bytes of a Parquet file."""
    found = BytesIO()
    _write_parquet(table, found)
    return found.getvalue()


def _schema_of(path: Path) -> int:
    head = path / _HEAD
    try:
        found: Any = json.loads(head.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(str(path), "", "must be the store of a study, not without one") from None
    except NotADirectoryError:
        raise InputError(str(path), "", "must be the store of a study, not a file") from None
    except OSError as error:
        message = f"must be a file that can be read, not with: {error.strerror}"
        raise InputError(str(head), "", message) from None
    except ValueError:
        raise InputError(str(head), "", "must be JSON, not other text") from None
    if not isinstance(found, dict) or "schema" not in found:
        message = f"must be an object with the key schema, not {found!r:.60}"
        raise InputError(str(head), "", message)
    schema = cast("dict[str, object]", found)["schema"]
    if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
        raise InputError(str(head), "schema", f"must be 1 to {SCHEMA}, not {schema!r:.60}")
    if schema > SCHEMA:
        message = f"must be at most {SCHEMA}, not {schema}, which a newer fred-hw wrote"
        raise InputError(str(head), "schema", message)
    return schema


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _rows_folder(path: Path, schema: int) -> Path:
    return path / f"rows-{schema}"


def _tables_folder(path: Path, schema: int) -> Path:
    return path / f"tables-{schema}"


def _write_head(path: Path, schema: int) -> None:
    text = json.dumps({"schema": schema}) + "\n"
    _commit(path / _HEAD, lambda part: part.write_text(text, encoding="utf-8"))


def _commit(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: under a temporary name, renamed once it is on disk."""
    part = path.with_name(f"{path.name}.part")
    try:
        write(part)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def not_written(path: Path, error: OSError) -> InputError:
    """Return the error of a store that cannot be written, as on a full disk."""
    said = error.strerror or str(error)
    return InputError(str(path), "", f"must be a folder that can be written, not with: {said}")


def _write_parquet(table: Any, to: Path | BytesIO) -> None:
    _parquet().write_table(table, to, compression="zstd")


def _parquet() -> Any:
    with needed("pyarrow", "studies", "fred-hw[study]"):
        return import_module("pyarrow.parquet")


def _read(
    file: Path,
    columns: Sequence[str] | None = None,
    needed_columns: Collection[str] = PROVENANCE,
) -> Any:
    try:
        found = _parquet().ParquetFile(file)
        for name in needed_columns:
            if name not in found.schema_arrow.names:
                raise InputError(str(file), name, "must be a column of the file, not missing")
        return found.read(columns)
    except (OSError, ValueError) as error:  # pyarrow's errors of content are ValueErrors
        message = f"must be a Parquet file of a store, not with: {error}"
        raise InputError(str(file), "", message) from None


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a table without empty columns."""
    arrow: Any = import_module("pyarrow")
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name in PROVENANCE:
            columns[name] = arrow.array(values, PROVENANCE[name])
        elif any(value is not None for value in values):
            columns[name] = _array(arrow, values)
    return arrow.table(columns)


def _array(arrow: Any, values: Sequence[Any]) -> Any:
    try:
        return arrow.array(values)
    except (TypeError, ValueError, OverflowError):  # of several types, or beyond 64 bits
        return arrow.array([None if one is None else str(one) for one in values])
