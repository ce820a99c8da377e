"""Tests of fred_hw.reading."""

import contextlib
import os
import socket
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from fred_hw import reading
from fred_hw.errors import InputError
from fred_hw.reading import read_data
from fred_hw.yaml_text import parse_yaml
from tests.calls import calls

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join(9 * [f'*{a}'])}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
"""Lists of nine aliases to lists of nine aliases, 430 bytes: 4.3 GB if all were made."""

MERGES = "a: &a {k: 1}\n" + "".join(
    f"{b}: &{b} {{<<: [{', '.join(9 * [f'*{a}'])}]}}\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("[null, Null, NULL, ]", [None, None, None]),
        ("[true, False, TRUE]", [True, False, True]),
        ("[yes, no, on, off, y]", ["yes", "no", "on", "off", "y"]),
        ("[7, -3, +5, 0o17, 0xfF, 010]", [7, -3, 5, 15, 255, 10]),
        ("[6e12, 1.5, .5, 1., -2.5e-3]", [6e12, 1.5, 0.5, 1.0, -2.5e-3]),
        ("[.inf, -.INF]", [float("inf"), float("-inf")]),
        ("[1_000, 12:30:45, 2020-01-02, 0b11]", ["1_000", "12:30:45", "2020-01-02", "0b11"]),
        ("['1', \"true\", ! 3]", ["1", "true", "3"]),
        ("[!!str 1, !!int '2', !!float 3, !!bool 'true', !!null '']", ["1", 2, 3.0, True, None]),
        ("!!map {a: !!seq [b]}", {"a": ["b"]}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("a: &x {b: [1]}\nc: *x\nd: [*x]", {"a": {"b": [1]}, "c": {"b": [1]}, "d": [{"b": [1]}]}),
        ("a: &x 1\nb: *x\nc: &x 2\nd: *x", {"a": 1, "b": 1, "c": 2, "d": 2}),
        ("1: a\n2.5: b\n", {1: "a", 2.5: "b"}),
        ("{a: , b: }", {"a": None, "b": None}),
        ("- - 1\n  - 2\n- {}\n- []\n", [[1, 2], {}, []]),
        (1001 * "a", 1001 * "a"),
        ("'" + 1001 * "1" + "'", 1001 * "1"),
    ],
    ids=lambda text: f"{text!s:.20}",
)
def test_yaml_is_read_by_the_core_schema(text: str, value: object) -> None:
    assert parse_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BOMB, " at line 5: there may be at most 50,000 values, with those of aliases"),
        (MERGES, " at line 2: mappings cannot be merged, so << must not be a key"),
        ("a: &a [*a]", " at line 1: an alias must name an anchor whose value ends before it"),
        ("a: &a 1\nb: &a [*a]", " at line 2: an alias must name .* ends before it"),
        ("*a", " at line 1: an alias must name an anchor whose value ends before it"),
        (40 * "[", " at line 1: values may be nested at most 32 deep"),
        (
            r'a: "\ud800"',
            r" at line 1: \\ud800 must be paired with the other surrogate of its character",
        ),
        (8000 * "[", " at line 1: values may be nested at most 32 deep"),
        (8000 * "{a: ", " at line 1: values may be nested at most 32 deep"),
        (40 * "- ", " at line 1: values may be nested at most 32 deep"),
        ("[" * 200_000, " at line 1: values may be nested at most 32 deep"),
        ("a: 1\nb: 2\na: 3", " at line 3: the key 'a' must occur only once"),
        ("{1: a, 0x1: b}", " at line 1: the key 1 must occur only once"),
        ("? [a]\n: b", " at line 1: a key must be text or a number, not a list or a mapping"),
        ("!!int ''", " at line 1: '' must be a value of the tag !!int"),
        ("!!float abc", " at line 1: 'abc' must be a value of the tag !!float"),
        ("!!timestamp 2020-13-45", " at line 1: tags are !!str, .*, not '!!timestamp'"),
        ("!!binary aGk=", " at line 1: tags are .*, not '!!binary'"),
        ("!!set {a}", " at line 1: tags are .*, not '!!set'"),
        ("!!omap [a: 1]", " at line 1: tags are .*, not '!!omap'"),
        ("!!map [a]", " at line 1: tags are .*, not '!!map'"),
        ("!!python/object:os.system x", " at line 1: tags are .*, not '!!python/object:os.system'"),
        ("a: !local 1", " at line 1: tags are .*, not '!local'"),
        (5000 * "9", " at line 1: a number may have at most 1,000 digits"),
        ("0x" + 1000 * "f", " at line 1: a number may have at most 1,000 digits"),
        ("[1, -1e999]", " at line 1: numbers must be below 1.8e308, not -1e999"),
        ("a: 1\n---\nb: 2", " at line 2: the file must have only one document"),
        ('"\\Uffffffff"', ": a character or a version that does not exist"),
        ("a: \x00", ": special characters are not allowed"),
        ("a: [", " at line 1: .*"),
        ("a: @", " at line 1: .*"),
    ],
    ids=lambda text: f"{text:.20}",
)
def test_what_is_no_plain_value_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=rf"^must be YAML, not text with an error{problem}$"):
        parse_yaml(text)


def test_a_text_that_is_read_again_gives_a_value_of_its_own() -> None:
    text = "a: &a [1, {b: 2}]\nc: *a\n"
    first = parse_yaml(text)
    first["a"][1]["b"] = 3
    assert parse_yaml(text) == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}


def test_what_is_wrong_first_is_told_again_and_again() -> None:
    for _ in range(2):
        with pytest.raises(InputError, match="at line 2: the key 'a' must occur only once"):
            parse_yaml("a: 1\na: 2\nb: [\n")


@pytest.mark.parametrize("piece", ["[", "{", "{a: [", "- ", "? ", "a: ", "'", "&a ", "!!str ", "%"])
def test_work_for_a_text_of_one_piece_grows_with_its_length_at_most(piece: str) -> None:
    def read(size: int) -> None:
        with contextlib.suppress(InputError):
            parse_yaml(piece * (size // len(piece)))

    assert calls(lambda: read(100_000)) < 13 * calls(lambda: read(8_000))


def test_aliases_take_no_memory() -> None:
    assert len(BOMB) < 446
    tracemalloc.start()
    with pytest.raises(InputError):
        parse_yaml(BOMB)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "b": 2, "a": 3}', ": the key 'a' must occur only once"),
        ("[NaN]", ": NaN is not a JSON value"),
        (r'{"\ud800": 1}', r": \\ud800 must be paired with the other surrogate of its character"),
        (
            r'["\ud83d\ude00\udc00"]',
            r": \\udc00 must be paired with the other surrogate of its character",
        ),
        ("[-Infinity]", ": -Infinity is not a JSON value"),
        ("[1e999]", ": numbers must be below 1.8e308, not 1e999"),
        ("[" + 5000 * "9" + "]", ": a number may have at most 1,000 digits"),
        (40 * "[" + 40 * "]", ": values may be nested at most 32 deep"),
        (200_000 * "[", ": values may be nested at most 32 deep"),
        ("[" + 50_000 * "0," + "0]", ": there may be at most 50,000 values"),
        ("{", " at line 1: Expecting .*"),
        ("['a']", " at line 1: Expecting value"),
        ('["\x1b"]', " at line 1: Invalid control character at"),
    ],
    ids=lambda text: f"{text:.20}",
)
def test_what_is_no_json_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(text)
    message = rf"^.*f\.json: must be JSON, not text with an error{problem}$"
    with pytest.raises(InputError, match=message):
        read_data(path)


@pytest.mark.parametrize("name", ["f.json", "f.JSON"])
def test_json_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"a": [1, 2.5, null, true, "\\u001b"], "b": {"a": 1e3}}')
    assert read_data(path) == {"a": [1, 2.5, None, True, "\x1b"], "b": {"a": 1000.0}}


@pytest.mark.parametrize("name", ["f.json", "f.yaml"])
@pytest.mark.parametrize("text", ["", " \n", "null"])
def test_nothing_is_refused(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=r"must hold a specification, not nothing \(.* empty\)$"):
        read_data(path)


@pytest.mark.parametrize(
    ("name", "limit"), [("f.json", reading.MAX_JSON_BYTES), ("f.yaml", reading.MAX_YAML_BYTES)]
)
def test_size_is_bounded_and_its_bound_named(tmp_path: Path, name: str, limit: int) -> None:
    path = tmp_path / name
    path.write_bytes(limit * b" ")
    with pytest.raises(InputError, match="not nothing"):
        read_data(path)
    path.write_bytes((limit + 1) * b" ")
    message = rf"^.*{name}: must be a file of at most {limit:,} bytes, not a larger one$"
    with pytest.raises(InputError, match=message):
        read_data(path)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "socket", "/dev/zero", "/dev/null", "/dev/tty"])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "f.yaml"
    keep: Any = None
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        keep = socket.socket(socket.AF_UNIX)
        keep.bind(os.path.relpath(path))
    else:
        path.symlink_to(kind)
    message = r"^.*f\.yaml: must be a regular file, not a device, pipe or socket$"
    with pytest.raises(InputError, match=message):
        read_data(path)
    if keep:
        keep.close()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.yaml", "must be an existing file, not a missing one"),
        (".", "must be a file, not a directory"),
        ("a\0.yaml", "must be the name of a file"),
        (300 * "n", "must be readable, not File name too long"),
        ("binary.yaml", "must be a text file in UTF-8, not binary data"),
    ],
    ids=["missing", "folder", "NUL", "long", "binary"],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\x80\xff")
    with pytest.raises(InputError, match=f": {message}$"):
        read_data(tmp_path / name)
