"""The one reader of YAML and JSON: plain values of bounded size, or an :class:`InputError`.

YAML is that of version 1.2 with its core schema (yaml.org/spec/1.2.2, chapter 10): text, numbers,
``true``, ``false``, ``null``, lists and mappings, and no other tags. PyYAML reads the syntax;
values are made of its events here, so that what aliases repeat and what is nested is counted
before it is made.
"""

import json
import os
import re
import stat
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import yaml

from .errors import InputError

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "MAX_JSON_BYTES",
    "MAX_VALUES",
    "MAX_YAML_BYTES",
    "SUFFIXES",
    "open_bytes",
    "parse_json",
    "parse_yaml",
    "read_bytes",
    "read_data",
    "read_text",
]

SUFFIXES = (".yaml", ".yml", ".json")
"""What the names of files end in where names of other things are taken too."""

MAX_YAML_BYTES, MAX_JSON_BYTES = 1 << 18, 1 << 22
"""A YAML file and a JSON file at most; PyYAML reads 100 kB in a second."""

MAX_VALUES, MAX_DEPTH, MAX_DIGITS = 50_000, 32, 1000
"""Values with those that aliases repeat, lists and mappings in each other, digits of a number."""

_KEPT_CHARACTERS = 1 << 13
"""Texts up to this size that were read just before are not parsed again: 2 MB of events each."""

_TAG = "tag:yaml.org,2002:"
_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class _BadTextError(Exception):
    """What is wrong with a text, and in which line."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(f" at line {line}: {problem}" if line else f": {problem}")


def read_data(path: Path) -> Any:
    """Return what the YAML file at ``path`` holds, or the JSON file if the name ends so.

    Raises
    ------
    InputError
        The file is missing, no regular file, unreadable, not text, too large, empty, or holds what
        is no YAML or JSON of plain values within the bounds of this module.
    """
    source, is_json = str(path), path.suffix.lower() == ".json"
    text = read_text(path, MAX_JSON_BYTES if is_json else MAX_YAML_BYTES)
    try:
        data = parse_json(text) if is_json else parse_yaml(text)
    except InputError as error:
        raise InputError(source, "", error.message) from None
    if data is None:
        raise InputError(source, "", "must hold a specification, not nothing (the file is empty)")
    return data


def read_text(path: Path, max_bytes: int) -> str:
    """Return the text of a regular file.

    Raises
    ------
    InputError
        The file is missing, no regular file, unreadable, larger than ``max_bytes``, or not UTF-8.
    """
    try:
        return read_bytes(path, max_bytes).decode("utf-8")
    except UnicodeDecodeError:
        message = "must be a text file in UTF-8, not binary data"
        raise InputError(str(path), "", message) from None


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Return what a regular file holds.

    Raises
    ------
    InputError
        The file is missing, no regular file, unreadable, or larger than ``max_bytes``.
    """
    with open_bytes(path) as file, _readable(path):
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        message = f"must be a file of at most {max_bytes:,} bytes, not a larger one"
        raise InputError(str(path), "", message)
    return data


def open_bytes(path: Path) -> BinaryIO:
    """Return a regular file, opened to be read; nothing else is even opened.

    Raises
    ------
    InputError
        The file is missing, no regular file or unreadable.
    """
    with _readable(path):
        _check_regular(path, path.stat().st_mode)
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")
        try:
            _check_regular(path, os.fstat(file.fileno()).st_mode)
        except BaseException:
            file.close()
            raise
        return file


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what the system says of a file into an error line."""
    source = str(path)
    try:
        yield
    except FileNotFoundError:
        raise InputError(source, "", "must be an existing file, not a missing one") from None
    except OSError as error:
        raise InputError(source, "", f"must be readable, not {error.strerror}") from None
    except ValueError:  # a NUL, which no path has
        raise InputError(source, "", "must be the name of a file") from None


def _check_regular(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise InputError(str(path), "", "must be a file, not a directory")
    if not stat.S_ISREG(mode):
        raise InputError(str(path), "", "must be a regular file, not a device, pipe or socket")


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text of one document; None if it holds nothing.

    Raises
    ------
    InputError
        It is no such text, or beyond the bounds of this module; names neither source nor field.
    """
    try:
        return _Builder().build(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", "not readable")
        bad = _BadTextError(problem, mark and mark.line + 1)
    except (ValueError, OverflowError):  # of "\\UFFFFFFFF", or a version of a thousand digits
        bad = _BadTextError("a character or a version that is none")
    except _BadTextError as error:
        bad = error
    raise InputError("", "", f"must be YAML, not text with an error{bad}") from None


def _events(text: str) -> Iterable[yaml.Event]:
    """Return the events of a YAML text; those of a small one are kept, as PyYAML takes its time."""
    if len(text) <= _KEPT_CHARACTERS:
        with suppress(yaml.YAMLError, ValueError, OverflowError):
            return _kept(text)
    return yaml.parse(text, yaml.SafeLoader)  # what is wrong before an error comes first


@lru_cache(maxsize=32)
def _kept(text: str) -> tuple[yaml.Event, ...]:
    return tuple(yaml.parse(text, yaml.SafeLoader))


class _Builder:
    """Makes values of the events of a YAML text."""

    def __init__(self) -> None:
        self.values = 0
        self.anchors: dict[str, tuple[Any, int]] = {}
        """By name the value, and how many values it is."""

    def build(self, text: str) -> Any:
        """Return the value of a text, or None if there is none."""
        # What is open: the list or mapping, its key that waits for a value, its anchor, and how
        # many values there were before it.
        open_: list[tuple[Any, list[Hashable], str | None, int]] = []
        root: Any = None
        documents = 0
        for event in _events(text):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _BadTextError("one document is read, and another begins", line)
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                value, _, anchor, before = open_.pop()
                if anchor is not None:
                    self.anchors[anchor] = value, self.values - before
                continue
            if not isinstance(event, yaml.NodeEvent):
                continue
            before = self.values
            value = self._value(event, line)
            if open_:
                _put(value, open_[-1][0], open_[-1][1], line)
            else:
                root = value
            if isinstance(event, yaml.CollectionStartEvent):
                if len(open_) == MAX_DEPTH:
                    raise _BadTextError(f"values may be nested at most {MAX_DEPTH} deep", line)
                open_.append((value, [], event.anchor, before))
                if event.anchor is not None:
                    self.anchors.pop(event.anchor, None)
            elif isinstance(event, yaml.ScalarEvent) and event.anchor is not None:
                self.anchors[event.anchor] = value, 1
        return root

    def _value(self, event: Any, line: int) -> Any:
        count = 1
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise _BadTextError("an alias must name what is anchored and ended before it", line)
            value, count = self.anchors[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            value = _scalar(event, line)
        else:
            is_list = isinstance(event, yaml.SequenceStartEvent)
            if event.tag not in (None, "!", _TAG + ("seq" if is_list else "map")):
                _refuse_tag(event.tag, line)
            value = [] if is_list else {}
        self.values += count
        if self.values > MAX_VALUES:
            raise _BadTextError(
                f"there may be at most {MAX_VALUES:,} values, with those of aliases", line
            )
        return value


def _put(value: Any, parent: Any, waiting: list[Hashable], line: int) -> None:
    """Add a value to a list, or to a mapping as a key or as what the key before it stands for."""
    if isinstance(parent, list):
        parent.append(value)
    elif waiting:
        parent[waiting.pop()] = value
    elif isinstance(value, list | dict):
        raise _BadTextError("a key must be text or a number, not a list or a mapping", line)
    elif value == "<<":
        raise _BadTextError("mappings are not merged, so << may not be a key", line)
    elif value in parent:
        raise _BadTextError(f"the key {value!r:.60} may be there once", line)
    else:
        parent[value] = None  # its place, also for what comes before its value ends
        waiting.append(value)


def _scalar(event: yaml.ScalarEvent, line: int) -> Any:
    """Return the value of a scalar by the core schema."""
    text, tag = event.value, event.tag
    _refuse_halves(text, line)
    plain = event.implicit[0] and tag is None
    if tag is not None and not (tag == "!" or tag.startswith(_TAG)):
        _refuse_tag(tag, line)
    kind = (tag or "").removeprefix(_TAG)
    if kind in ("!", "str") or (not plain and not kind):
        return text
    if kind not in ("", "null", "bool", "int", "float"):
        _refuse_tag(tag, line)
    if len(text) > MAX_DIGITS:
        if plain and not text[0].isdigit() and text[0] not in "-+.":
            return text
        raise _BadTextError(f"a number may have at most {MAX_DIGITS:,} digits", line)
    if kind in ("", "null") and _NULL.fullmatch(text):
        return None
    if kind in ("", "bool") and _BOOL.fullmatch(text):
        return text[0] in "tT"
    if kind in ("", "int") and _INT.fullmatch(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text, base)
    if kind in ("", "float") and _FLOAT.fullmatch(text):
        return _finite(text, line)
    if kind in ("", "float") and _INFINITE.fullmatch(text):
        return float(text.replace(".", ""))
    if plain:
        return text
    raise _BadTextError(f"{text!r:.60} must be what the tag !!{kind} says", line)


def _refuse_tag(tag: str, line: int) -> NoReturn:
    kinds = "!!str, !!int, !!float, !!bool, !!null, !!seq and !!map"
    raise _BadTextError(f"tags are {kinds}, not {tag.replace(_TAG, '!!')!r:.60}", line)


def parse_json(text: str, max_values: int = MAX_VALUES) -> Any:
    """Return the value of a JSON text; None if it holds nothing.

    Parameters
    ----------
    text : str
        The text.
    max_values : int
        Values at most.

    Raises
    ------
    InputError
        It is no such text, a key is there twice in a mapping, or it is beyond the bounds of this
        module; names neither source nor field.
    """
    try:
        return _from_json(text, max_values)
    except _BadTextError as error:
        raise InputError("", "", f"must be JSON, not text with an error{error}") from None


def _from_json(text: str, max_values: int) -> Any:
    if not text.strip():
        return None
    try:
        data = json.loads(
            text,
            object_pairs_hook=_mapping,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise _BadTextError(error.msg, error.lineno) from None
    except RecursionError:
        raise _BadTextError(f"values may be nested at most {MAX_DEPTH} deep") from None
    _count(data, max_values)
    if _HALF.search(text):
        _refuse_halves(json.dumps(data, ensure_ascii=False))
    return data


_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a character beyond 16 bits, as an escape names it; two of them are one."""


def _refuse_halves(text: str, line: int | None = None) -> None:
    """Refuse text in which a half of a character stands alone, which no file nor screen takes."""
    if found := re.search("[\ud800-\udfff]", text):
        half = f"\\u{ord(found[0]):04x}"
        raise _BadTextError(f"{half} must stand with the other half of its character", line)


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names: set[str] = set()
        twice = next(name for name, _ in pairs if name in names or names.add(name))
        raise _BadTextError(f"the key {twice!r:.60} may be there once")
    return found


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise _BadTextError(f"a number may have at most {MAX_DIGITS:,} digits")
    return int(text)


def _finite(text: str, line: int | None = None) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _BadTextError(f"numbers must be below 1.8e308, not {text:.60}", line)
    return number


def _refuse_constant(text: str) -> NoReturn:
    raise _BadTextError(f"JSON has no {text}")


def _count(data: Any, max_values: int) -> None:
    """Refuse too many values, and values too deep in each other."""
    level, count = [data], 0
    for _ in range(MAX_DEPTH + 1):
        count += len(level)
        if count > max_values:
            raise _BadTextError(f"there may be at most {max_values:,} values")
        lists = [one.values() if isinstance(one, dict) else one for one in level if _holds(one)]
        level = [value for values in lists for value in values]
        if not level:
            return
    raise _BadTextError(f"values may be nested at most {MAX_DEPTH} deep")


def _holds(value: Any) -> bool:
    return isinstance(value, list | dict)
