"""Trace files: streams of messages, read and written one at a time.

``.et``: each message of the schema behind its length, a varint; the first is the metadata, all
others are nodes. ``.json``: the same messages as JSON objects, one behind the other, in protobuf's
JSON mapping, as Chakra's own jsonizer writes them, or a workload graph of Chakra's feeder. Either
may be compressed by gzip.
"""

import gzip
import io
import os
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, Self, TypeVar, cast

from fred_hw.errors import InputError
from fred_hw.progress import count, track
from fred_hw.reading import open_bytes

from .encoding import (
    metadata_from_message,
    metadata_to_message,
    node_from_bytes,
    node_to_message,
    task_from_bytes,
)
from .json_files import (
    HEAD_BYTES,
    WHOLE,
    JsonKind,
    is_json_name,
    json_kind,
    looks_like_json,
    unpacked,
)
from .json_objects import json_line, parse_object, split_objects
from .node import Metadata, Node, Task
from .schema import BadMessageError, from_bytes
from .traces import check_suffix
from .wire import BadStreamError, behind_length, split_messages
from .workload_graph import METADATA, read_graph

__all__ = ["VERSION", "Reader", "encode", "encode_for", "read", "read_tasks", "write"]

T = TypeVar("T")

VERSION = "0.0.4"
"""Version of the schema that files state."""

_ERRORS = (BadStreamError, BadMessageError, OSError, EOFError, zlib.error)
_NOT_TRACES: Mapping[JsonKind, str] = {
    "pytorch": "a PyTorch execution trace, which becomes one by: "
    "fred chakra convert FILE --kineto KINETO -o TRACE.et",
    "kineto": "a Kineto trace, which goes with a PyTorch execution trace of the same run: "
    "fred chakra convert FILE --kineto KINETO -o TRACE.et",
    "other": "another JSON object: its first object must be the metadata, with version or attr",
}
_COUNTED = 1024
"""Number of nodes between two progress reports."""


class Reader(Iterator[T], Generic[T]):
    """The nodes of a file, read on demand.

    Parameters
    ----------
    path : Path
        A trace, maybe compressed by gzip; JSON if its name ends in ``.json`` or ``.json.gz``.
    decode : callable
        Makes a node of the bytes of its message.

    Raises
    ------
    InputError
        The file is unreadable or its metadata is no message; ``next`` raises it for what follows.
        It names the file, and the byte (of what gzip has compressed, if it did).
    """

    def __init__(self, path: Path, decode: Callable[[bytes], T]) -> None:
        self._source, self._decode = str(path), decode
        self._json = is_json_name(path)
        self._file = open_bytes(path)
        try:
            self._bytes = os.fstat(self._file.fileno()).st_size
            self._stream = unpacked(self._file)
            if self._kind() == "workload_graph":
                self._file.close()
                self._items = self._of_graph(path)
                self.metadata = METADATA
            else:
                self._messages = (split_objects if self._json else split_messages)(self._stream)
                self._items = self._each()
                self.metadata = self._first()
        except BaseException:
            self._file.close()
            raise

    def __iter__(self) -> Iterator[T]:
        return self._items

    def __next__(self) -> T:
        return next(self._items)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; no more nodes follow."""
        self._items = cast("Iterator[T]", iter(()))
        self._file.close()

    def _kind(self) -> JsonKind:
        """Return the kind of the file; fail if it cannot be read as a trace."""
        try:
            head = self._stream.read(HEAD_BYTES)
        except _ERRORS:  # a reader of single messages reports the byte of the error
            head = b""
        self._stream.seek(0)
        if not self._json:
            check_suffix(Path(self._source), "a Chakra trace")
            if looks_like_json(head):
                message = "must be a trace in protobuf, not JSON, whose name ends in .json"
                raise InputError(self._source, "", message)
            return "chakra"
        kind = json_kind(head)
        if kind in _NOT_TRACES:
            raise InputError(self._source, "", f"must be a Chakra trace, not {_NOT_TRACES[kind]}")
        return kind

    def _of_graph(self, path: Path) -> Iterator[T]:
        """Yield the nodes of a workload graph."""
        for number, node in enumerate(read_graph(path)):
            try:
                yield self._decode(node_to_message(node).SerializeToString())
            except BadMessageError as error:
                field = f"workload_graph.{number}"
                said = f"must be a node, not one with {error}"
                raise InputError(self._source, field, said) from None

    def _first(self) -> Metadata:
        """Return the metadata at the start of the file."""
        name, offset = "GlobalMetadata", 0
        try:
            for begun, data in self._messages:
                offset = begun
                message = parse_object(name, data) if self._json else from_bytes(name, data)
                return metadata_from_message(message)
        except _ERRORS as error:
            raise self._bad(error, offset, "the metadata of a trace") from None
        raise InputError(self._source, "", "must be a trace, not an empty file")

    def _each(self) -> Iterator[T]:
        """Yield the nodes of the file."""
        offset, decode = 0, self._decode
        try:
            for number, (begun, data) in enumerate(self._messages, 1):
                offset = begun
                if not data:
                    raise BadMessageError("0 bytes")
                if self._json:
                    data = parse_object("Node", data).SerializeToString()
                yield decode(data)
                if not number % _COUNTED:
                    count("bytes", self._file.tell(), self._bytes)
        except _ERRORS as error:
            raise self._bad(error, offset, "a node") from None
        finally:
            self._file.close()

    def _bad(self, error: Exception, offset: int, what: str) -> InputError:
        """Return the error for an unreadable part of the file."""
        if isinstance(error, BadStreamError):
            return InputError(self._source, f"byte {error.offset}", str(error))
        if isinstance(error, BadMessageError):
            said = f"must be {what}, not a message with {error}"
            return InputError(self._source, f"byte {offset}", said)
        if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
            return InputError(self._source, f"byte {self._stream.tell()}", WHOLE)
        assert isinstance(error, OSError)
        return InputError(self._source, "", f"must be readable, not {error.strerror}")


def read(path: str | Path) -> Reader[Node]:
    """Return an iterator over the nodes of a trace, with the ``metadata`` at its start.

    At any time one message is in memory.

    Parameters
    ----------
    path : str or Path
        A trace, maybe compressed by gzip; JSON if its name ends in ``.json`` or ``.json.gz``.

    Raises
    ------
    InputError
        As for ``Reader``.
    """
    return Reader(Path(path), node_from_bytes)


def read_tasks(path: str | Path) -> Reader[Task]:
    """Return an iterator over the tasks (reduced nodes) of a trace; otherwise as ``read``."""
    return Reader(Path(path), task_from_bytes)


def encode(nodes: Iterable[Node], metadata: Metadata, *, as_json: bool = False) -> Iterator[bytes]:
    """Yield the pieces of a trace, one message each: binary (``.et``) or lines of JSON.

    Raises
    ------
    ValueError, TypeError
        A number is out of the range of its field, or a value is not of its kind.
    """
    first = metadata_to_message(metadata)
    yield json_line(first, metadata) if as_json else behind_length(first)
    for node in track(nodes, "nodes") if isinstance(nodes, list) else nodes:
        message = node_to_message(node)
        yield json_line(message, node) if as_json else behind_length(message)


def encode_for(path: Path, nodes: Iterable[Node], metadata: Metadata) -> Iterator[bytes]:
    """Return the pieces of a trace in the format of its file name.

    ``.json`` is JSON and anything else binary; a further ``.gz`` is compressed by gzip.
    """
    pieces = encode(nodes, metadata, as_json=is_json_name(path))
    return _compressed(pieces) if path.name.lower().endswith(".gz") else pieces


def _compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a gzip file, which depends on its content only: no name, no time."""
    sink = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=sink, mtime=0) as file:
        for piece in pieces:
            file.write(piece)
            if sink.tell() >= HEAD_BYTES:
                yield sink.getvalue()
                sink.seek(0)
                sink.truncate()
    yield sink.getvalue()


def write(
    path: str | Path,
    nodes: Iterable[Node],
    version: str = VERSION,
    metadata: Metadata | None = None,
) -> None:
    """Write a complete trace atomically, in the format of its name (``encode_for``).

    Parameters
    ----------
    path : str or Path
        Path of the file.
    nodes : iterable of Node
        Nodes, in the order of the file.
    version : str
        Version in the metadata.
    metadata : Metadata or None
        Complete metadata, instead of metadata with only the version.

    Raises
    ------
    InputError
        The file cannot be written.
    ValueError, TypeError
        A number is out of the range of its field, or a value is not of its kind.
    """
    path = Path(path)
    aside = path.with_name(f".writing-{secrets.token_hex(8)}")
    try:
        number = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(number, "wb") as file:
                file.writelines(encode_for(path, nodes, metadata or Metadata(version)))
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        message = f"must be a file that can be written to, not one with: {error.strerror}"
        raise InputError(str(path), "", message) from None
