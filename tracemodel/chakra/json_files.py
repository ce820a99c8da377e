"""JSON files that hold a single object: detecting their kind, and reading them.

Chakra's own JSON is a stream of messages. A workload graph of Chakra's feeder, an execution trace
of PyTorch and a trace of Kineto are single objects, distinguished by their keys.
"""

import gzip
import io
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from fred_hw.errors import InputError
from fred_hw.reading import open_bytes, parse_json

__all__ = [
    "HEAD_BYTES",
    "WHOLE",
    "JsonKind",
    "is_json_name",
    "json_kind",
    "kind_of_file",
    "list_of",
    "looks_like_json",
    "mapping_of",
    "read_object",
    "unpacked",
]

JsonKind = Literal["chakra", "workload_graph", "pytorch", "kineto", "other"]

HEAD_BYTES = 1 << 16
"""Number of leading bytes from which the kind of a file is detected."""

MAX_BYTES = 1 << 28
"""Largest size of an object after decompression [B]."""

WHOLE = "must be whole, as gzip compressed it"
"""Text of the error for a compressed file that cannot be decompressed."""

_MAGIC = b"\x1f\x8b"
_BEGIN = re.compile(rb'\s*\{\s*"((?:[^"\\]|\\.)*)"')
_KINDS: Mapping[JsonKind, re.Pattern[bytes]] = {
    "workload_graph": re.compile(rb'"workload_graph"\s*:'),
    "kineto": re.compile(rb'"(?:traceEvents|schemaVersion|deviceProperties)"\s*:'),
    "pytorch": re.compile(rb'"schema"\s*:'),
}
_METADATA = (b"version", b"attr", b"unknownFields")


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return a value if it is a JSON object, otherwise an empty object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def list_of(value: Any) -> list[Any]:
    """Return a value if it is a JSON list, otherwise an empty list."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def is_json_name(path: Path) -> bool:
    """Return whether a file name stands for JSON, possibly compressed."""
    return path.name.lower().removesuffix(".gz").endswith(".json")


def looks_like_json(head: bytes) -> bool:
    """Return whether the first bytes of a file look like a JSON object."""
    return _BEGIN.match(head) is not None


def json_kind(head: bytes) -> JsonKind:
    """Return the kind of a JSON file, given its first bytes."""
    begin = _BEGIN.match(head)
    if begin is None or begin[1] in _METADATA:
        return "chakra"
    for kind, keys in _KINDS.items():
        if keys.search(head):
            return kind
    return "other"


def kind_of_file(path: Path) -> JsonKind:
    """Return the kind of a JSON file, which may be compressed.

    Raises
    ------
    InputError
        The file is unreadable.
    """
    return json_kind(_read(path, HEAD_BYTES))


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, which may be compressed.

    Raises
    ------
    InputError
        The file is unreadable, above ``MAX_BYTES``, or holds no object.
    """
    data = _read(path, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        message = f"must be at most {MAX_BYTES:,} bytes, not more"
        raise InputError(str(path), "", message)
    try:
        said = parse_json(data.decode("utf-8"), MAX_BYTES)
    except UnicodeDecodeError:
        raise InputError(str(path), "", "must be a text file in UTF-8, not binary data") from None
    except InputError as error:
        raise InputError(str(path), "", error.message) from None
    if not isinstance(said, dict):
        raise InputError(str(path), "", f"must be a JSON object, not {said!r:.60}")
    return cast("dict[str, Any]", said)


def unpacked(file: BinaryIO) -> BinaryIO:
    """Return a file as a stream, decompressed if it is a gzip file."""
    magic = file.read(len(_MAGIC))
    file.seek(0)
    if magic != _MAGIC:
        return file
    return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=file)), HEAD_BYTES)


def _read(path: Path, count: int) -> bytes:
    with open_bytes(path) as file:
        try:
            return unpacked(file).read(count)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise InputError(str(path), "", WHOLE) from None
        except OSError as error:
            raise InputError(str(path), "", f"must be readable, not {error.strerror}") from None
