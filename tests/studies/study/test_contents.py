"""Tests of studies.study.contents."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from studies.study.contents import digest_of, flat, named_files
from tests.written import written


def test_values_have_dotted_paths() -> None:
    assert dict(flat("a", {"b": [1, {"c": None}], "d": "e"})) == {
        "a.b.0": 1,
        "a.b.1.c": None,
        "a.d": "e",
    }


def test_files_are_named_directly_and_through_files_and_names_of_topologies(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    deep = written(tmp_path / "in/deep.json", "[1]")
    inner = written(tmp_path / "in/inner.yaml", "[deep.json, none.yaml, ../top.txt]")
    top, other = written(tmp_path / "top.txt", "2"), written(tmp_path / "other", "3")
    written(tmp_path / "deep.json", "2")  # paths in a file start from its folder
    data = {"a": ["wafers:2xin/inner.yaml"], "b": "other", "c": 3}
    assert {*named_files(data, tmp_path)} == {inner, deep, top, other}


def test_a_file_is_named_once_however_its_path_is_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    one = written(tmp_path / "one.yaml", "[in/../two.yaml, one.yaml]")
    two = written(tmp_path / "two.yaml", "in/../one.yaml")
    assert [*named_files(["one.yaml", "./one.yaml"], tmp_path)] == [one, two]


@pytest.mark.parametrize("text", ["x" * 256, "y/" * 3000, "a\0b", "a\0b/c", "", "."])
def test_texts_that_cannot_be_files_name_none(tmp_path: Path, text: str) -> None:
    assert [*named_files([text], tmp_path)] == []


def test_a_malformed_file_is_refused_by_its_name(tmp_path: Path) -> None:
    written(tmp_path / "inner.json", "{")
    with pytest.raises(InputError, match=r"^inner\.json: must be JSON, not text with an error"):
        list(named_files("inner.json", tmp_path))


def test_the_digest_is_of_contents_in_order(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one", "1"), written(tmp_path / "two", "2")
    found = {digest_of(files) for files in ([], [one], [one, two], [two, one])}
    assert len(found) == 4
    assert digest_of([tmp_path]) == digest_of([written(tmp_path / "empty", "")])
