"""Tests of `fred schema`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fred_cli.schemas.file_kind import FILES
from tests.fred_cli.fred import Fred


def test_kinds_are_listed(fred: Fred) -> None:
    rows = fred.json("schema")["kinds"]
    assert [row["kind"] for row in rows] == list(FILES)
    out = fred.out("schema")
    assert all(name in out for name in FILES)


@pytest.mark.parametrize("kind", FILES)
def test_schema_is_printed_and_written(kind: str, fred: Fred, tmp_path: Path) -> None:
    out = fred.out("schema", kind)
    Draft202012Validator.check_schema(json.loads(out))
    assert fred("schema", kind, "--json")[1] == out
    path = tmp_path / "folder" / "file.json"
    assert fred("schema", kind, "-o", str(path)) == (0, "", "")
    assert path.read_text() == out


def test_bad_kinds_and_files_are_refused(refused: Callable[..., str], place: Path) -> None:
    said = f"error: KIND: must be one of the {len(FILES)} names that 'fred schema --help' lists, "
    assert refused("schema", "nope") == f"{said}not 'nope'"
    assert refused("schema", "topologie").endswith("; did you mean 'topology'?")
    assert refused("schema", "-o", "x.json") == (
        "error: fred schema: KIND: must be given with --output, not left out"
    )
    assert refused("schema", "flows", "-o", "folder.yaml") == (
        "error: folder.yaml: must be a file, not a directory"
    )
