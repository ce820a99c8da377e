"""Streams of JSON objects, parsed and written one at a time."""

import base64
import json
import re
from collections.abc import Iterator
from math import copysign
from typing import Any, BinaryIO, cast

from fred_hw.errors import InputError
from fred_hw.reading import parse_json

from .node import Metadata, Node
from .schema import BadMessageError, from_json, merge, to_json
from .wire import BadStreamError

__all__ = ["MAX_OBJECT_BYTES", "json_line", "parse_object", "split_objects"]

MAX_OBJECT_BYTES = 1 << 24
"""Largest size of a message as JSON [B]."""

_CHUNK = 1 << 16
_UNKNOWN = "unknownFields"
"""Private key for fields without a JSON name, in base64; present only if there are any."""

_LARGEST, _ABOVE = float.fromhex("0x1.fffffep127"), float.fromhex("0x1.ffffffp127")
"""The largest 32-bit float, and that float plus half a unit in the last place."""

_BETWEEN, _IN_OBJECT = re.compile(rb"\S"), re.compile(rb'["{}]')
_IN_TEXT = re.compile(rb'\\.|"', re.DOTALL)


def split_objects(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield each JSON object in a stream of successive objects, with its position.

    Raises
    ------
    BadStreamError
        There is other text between them, or one is not whole or above ``MAX_OBJECT_BYTES``.
    """
    kept, base, place, begun, depth, in_text = b"", 0, 0, 0, 0, False
    while chunk := stream.read(_CHUNK):
        kept += chunk
        while True:
            marks = _IN_TEXT if in_text else _IN_OBJECT if depth else _BETWEEN
            found = marks.search(kept, place)
            if not found:
                break
            place = found.end()
            mark = found.group()
            if mark == b'"' and depth:
                in_text = not in_text
            elif mark == b"{" and not in_text:
                begun = begun if depth else found.start()
                depth += 1
            elif mark == b"}" and depth:
                depth -= 1
                if not depth:
                    yield base + begun, kept[begun:place]
            elif not depth:
                raise BadStreamError(base + found.start(), "must be a JSON object, not other text")
        # A backslash at the end escapes the first character of the next piece.
        place = len(kept) - (in_text and kept.endswith(b"\\", place))
        gone = begun if depth else place
        kept, base, place, begun = kept[gone:], base + gone, place - gone, 0
        if len(kept) > MAX_OBJECT_BYTES:
            said = f"must be a JSON object of at most {MAX_OBJECT_BYTES:,} bytes, not a longer"
            raise BadStreamError(base, f"{said} one")
    if depth:
        raise BadStreamError(base, "must be a whole JSON object, not cut off")


def parse_object(name: str, data: bytes) -> Any:
    """Return the ``GlobalMetadata`` or ``Node`` message in the text of a JSON object.

    Raises
    ------
    BadMessageError
        It holds none, has a key twice, or values deeper in each other than any file may.
    """
    try:
        # Each value takes at least a byte, so the size of an object bounds its number of values.
        said = parse_json(data.decode("utf-8"), MAX_OBJECT_BYTES)
    except UnicodeDecodeError as error:
        raise BadMessageError(f"an error: {error}") from None
    except InputError as error:
        raise BadMessageError(error.message.removeprefix("must be JSON, not text with ")) from None
    unknown = _take_unknown(said)
    attrs = said.get("attr")
    entries = cast("list[Any]", attrs) if isinstance(attrs, list) else []
    for one in entries:
        _round_floats(one)
    of_attrs = [_take_unknown(one) for one in entries]
    message = from_json(name, said)
    merge(message, unknown)
    for one, more in zip(message.attr, of_attrs, strict=False):
        merge(one, more)
    return message


def _round_floats(said: Any) -> None:
    """Round decimals that stand for the largest 32-bit float to exactly that float.

    Its shortest decimal, which writers of JSON take, is above it, and protobuf then refuses it.
    """
    if not isinstance(said, dict):
        return
    entry = cast("dict[str, Any]", said)
    for key in ("floatVal", "float_val"):
        if key in entry:
            entry[key] = _rounded(entry[key])
    for key in ("floatList", "float_list"):
        values = cast("dict[str, Any]", entry[key]) if isinstance(entry.get(key), dict) else {}
        if isinstance(values.get("values"), list):
            values["values"] = [_rounded(one) for one in values["values"]]


def _rounded(value: Any) -> Any:
    if isinstance(value, float) and _LARGEST < abs(value) < _ABOVE:
        return copysign(_LARGEST, value)
    return value


def _take_unknown(said: Any) -> bytes:
    """Remove the unknown fields from a JSON object, and return them decoded."""
    text = cast("dict[str, Any]", said).pop(_UNKNOWN, "") if isinstance(said, dict) else ""
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise BadMessageError(f"{_UNKNOWN} that are not base64") from None


def json_line(message: Any, whole: Node | Metadata) -> bytes:
    """Return a message as a line of JSON; ``whole`` holds the fields without a JSON name."""
    said = to_json(message)
    attrs = zip(said.get("attr", ()), whole.attrs, strict=True)
    for place, one in ((said, whole), *attrs):
        if one.unknown:
            place[_UNKNOWN] = base64.b64encode(one.unknown).decode("ascii")
    return json.dumps(said, ensure_ascii=False).encode("utf-8") + b"\n"
