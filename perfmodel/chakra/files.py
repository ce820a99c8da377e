"""Files of traces: a stream of messages, read and written one by one.

``.et``: each message of the schema behind its length, a varint; the first is the metadata, all
others are nodes. It may be compressed by gzip. ``.json``: the same messages as JSON objects, one
behind the other, in protobuf's JSON mapping, as Chakra's own jsonizer writes them.
"""

import gzip
import io
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from fred_hw.errors import InputError
from fred_hw.progress import count, track
from fred_hw.reading import open_bytes

from .encoding import (
    metadata_from_message,
    metadata_to_message,
    node_from_message,
    node_to_message,
)
from .json_objects import json_line, parse_object, split_objects
from .node import Metadata, Node
from .schema import BadMessageError, from_bytes
from .wire import BadStreamError, behind_length, split_messages

__all__ = ["VERSION", "Reader", "encode", "encode_for", "read", "write"]

VERSION = "0.0.4"
"""Of the schema, as files say it."""

_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 16
_COUNTED = 1024
"""Whoever listens is told how far it is every so many nodes."""


class Reader(Iterator[Node]):
    """The nodes of a file, read as they are asked for.

    Parameters
    ----------
    path : Path
        A trace, maybe compressed by gzip; JSON if its name ends in ``.json``.

    Raises
    ------
    InputError
        The file is unreadable or its metadata is no message; ``next`` raises it for what follows.
        It names the file, and the byte (of what gzip has compressed, if it did).
    """

    def __init__(self, path: Path) -> None:
        self._source, self._nodes = str(path), 0
        self._json = path.suffix.lower() == ".json"
        self._file = open_bytes(path)
        try:
            self._bytes = os.fstat(self._file.fileno()).st_size
            stream = _unpacked(self._file)
            self._messages = split_objects(stream) if self._json else split_messages(stream)
            found = self._next("GlobalMetadata")
            if found is None:
                raise InputError(self._source, "", "must be a trace, not an empty file")
            self.metadata: Metadata = found
        except BaseException:
            self.close()
            raise

    def __next__(self) -> Node:
        node = None
        try:
            node = self._next("Node")
        finally:
            if node is None:
                self.close()
        if node is None:
            raise StopIteration
        self._nodes += 1
        if not self._nodes % _COUNTED:
            count("bytes", self._file.tell(), self._bytes)
        return node

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; there are no more nodes."""
        self._messages = iter(())
        self._file.close()

    def _next(self, name: str) -> Any:
        """Return what the next message holds, or None at the end."""
        offset = None
        try:
            offset, data = next(self._messages, (None, b""))
            if offset is None:
                return None
            if name == "Node" and not data:
                raise BadMessageError("0 bytes, which no node has")
            message = parse_object(name, data) if self._json else from_bytes(name, data)
            from_message = node_from_message if name == "Node" else metadata_from_message
            return from_message(message)
        except BadStreamError as error:
            raise InputError(self._source, f"byte {error.offset}", str(error)) from None
        except BadMessageError as error:
            what = "a node" if name == "Node" else "the metadata of a trace"
            said = f"must be {what}, not a message with {error}"
            raise InputError(self._source, f"byte {offset}", said) from None
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise InputError(self._source, "", "must be whole, as gzip compressed it") from None
        except OSError as error:
            raise InputError(self._source, "", f"must be readable, not {error.strerror}") from None


def read(path: str | Path) -> Reader:
    """Return an iterator over the nodes of a trace; ``metadata`` is what the file begins with.

    At any time one message is in memory.

    Parameters
    ----------
    path : str or Path
        A trace, maybe compressed by gzip; JSON if its name ends in ``.json``.

    Raises
    ------
    InputError
        As for ``Reader``.
    """
    return Reader(Path(path))


def encode(nodes: Iterable[Node], metadata: Metadata, *, as_json: bool = False) -> Iterator[bytes]:
    """Yield the pieces of a trace, one message in each: of an ``.et`` file, or lines of JSON.

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
    """Yield the pieces of a trace as the name of its file says: JSON if it ends in ``.json``."""
    return encode(nodes, metadata, as_json=path.suffix.lower() == ".json")


def write(
    path: str | Path,
    nodes: Iterable[Node],
    version: str = VERSION,
    metadata: Metadata | None = None,
) -> None:
    """Write a trace, all of it or nothing; JSON if the name ends in ``.json``.

    Parameters
    ----------
    path : str or Path
        Where.
    nodes : iterable of Node
        In this order.
    version : str
        What the metadata says.
    metadata : Metadata or None
        Instead of metadata with the version alone.

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


def _unpacked(file: BinaryIO) -> BinaryIO:
    """Return the file, or what gzip has compressed in it."""
    magic = file.read(len(_MAGIC))
    file.seek(0)
    if magic != _MAGIC:
        return file
    unpacked = cast("io.RawIOBase", gzip.GzipFile(fileobj=file))
    return io.BufferedReader(unpacked, _CHUNK)
