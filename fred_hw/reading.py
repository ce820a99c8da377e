"""Reader of YAML and JSON: plain values of limited size, or an :class:`InputError`."""

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from .errors import InputError
from .plain import MAX_DEPTH, MAX_DIGITS, MAX_VALUES, BadTextError, finite, refuse_halves

__all__ = [
    "MAX_JSON_BYTES",
    "MAX_YAML_BYTES",
    "SUFFIXES",
    "open_bytes",
    "parse_json",
    "read_bytes",
    "read_data",
    "read_text",
]

SUFFIXES = (".yaml", ".yml", ".json")
"""File name endings, where texts may also be names of other things."""

MAX_YAML_BYTES, MAX_JSON_BYTES = 1 << 18, 1 << 22
"""Largest sizes of a YAML file and a JSON file; PyYAML reads 100 kB in a second."""


def read_data(path: Path) -> Any:
    """Return the contents of a file: JSON by its name, else YAML.

    Raises
    ------
    InputError
        The file is missing, no regular file, unreadable, not text, too large, empty, or holds what
        is no YAML or JSON of plain values within the bounds of this module.
    """
    source, is_json = str(path), path.suffix.lower() == ".json"
    text = read_text(path, MAX_JSON_BYTES if is_json else MAX_YAML_BYTES)
    try:
        data = parse_json(text) if is_json else _yaml(text)
    except InputError as error:
        raise InputError(source, "", error.message) from None
    if data is None:
        raise InputError(source, "", "must hold a specification, not nothing (the file is empty)")
    return data


def _yaml(text: str) -> Any:
    from .yaml_text import parse_yaml  # the import takes a tenth of the start of a short command

    return parse_yaml(text)


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
    """Return the contents of a regular file.

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
    """Return a regular file, open for reading; other kinds are not opened.

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
    """Convert operating system errors on a file to error lines."""
    source = str(path)
    try:
        yield
    except FileNotFoundError:
        raise InputError(source, "", "must be an existing file, not a missing one") from None
    except OSError as error:
        raise InputError(source, "", f"must be readable, not {error.strerror}") from None
    except ValueError:  # the path contains a NUL
        raise InputError(source, "", "must be the name of a file") from None


def _check_regular(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise InputError(str(path), "", "must be a file, not a directory")
    if not stat.S_ISREG(mode):
        raise InputError(str(path), "", "must be a regular file, not a device, pipe or socket")


def parse_json(text: str, max_values: int = MAX_VALUES) -> Any:
    """Return the value of a JSON text; None if it is empty.

    Parameters
    ----------
    text : str
        The text.
    max_values : int
        Values at most.

    Raises
    ------
    InputError
        The text is not JSON, a key occurs twice in an object, or the text is beyond the bounds of
        this module. The error names neither source nor field.
    """
    try:
        return _from_json(text, max_values)
    except BadTextError as error:
        raise InputError("", "", f"must be JSON, not text with an error{error}") from None


def _from_json(text: str, max_values: int) -> Any:
    if not text.strip():
        return None
    try:
        data = json.loads(
            text,
            object_pairs_hook=_mapping,
            parse_int=_integer,
            parse_float=finite,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise BadTextError(error.msg, error.lineno) from None
    except RecursionError:
        raise BadTextError(f"values may be nested at most {MAX_DEPTH} deep") from None
    _count(data, max_values)
    if _HALF.search(text):
        refuse_halves(json.dumps(data, ensure_ascii=False))
    return data


_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""An escaped surrogate, half of a character beyond 16 bits; a valid pair is one character."""


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names: set[str] = set()
        twice = next(name for name, _ in pairs if name in names or names.add(name))
        raise BadTextError(f"the key {twice!r:.60} must occur only once")
    return found


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise BadTextError(f"a number may have at most {MAX_DIGITS:,} digits")
    return int(text)


def _refuse_constant(text: str) -> NoReturn:
    raise BadTextError(f"{text} is not a JSON value")


def _count(data: Any, max_values: int) -> None:
    """Fail if there are too many or too deeply nested values."""
    level, count = [data], 0
    for _ in range(MAX_DEPTH + 1):
        count += len(level)
        if count > max_values:
            raise BadTextError(f"there may be at most {max_values:,} values")
        lists = [one.values() if isinstance(one, dict) else one for one in level if _holds(one)]
        level = [value for values in lists for value in values]
        if not level:
            return
    raise BadTextError(f"values may be nested at most {MAX_DEPTH} deep")


def _holds(value: Any) -> bool:
    return isinstance(value, list | dict)
