"""Streams of length-prefixed messages, parsed and written."""

from collections.abc import Iterator
from typing import Any, BinaryIO

__all__ = ["MAX_MESSAGE_BYTES", "BadStreamError", "behind_length", "split_messages"]

MAX_MESSAGE_BYTES = 1 << 23
"""Largest size of a message [B]; limits what a stated length can make the reader allocate."""


class BadStreamError(Exception):
    """Description and position of an error in a stream of messages."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def split_messages(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield each length-prefixed message with the position of its length.

    Raises
    ------
    BadStreamError
        It ends inside of one, or a length is above ``MAX_MESSAGE_BYTES``.
    """
    offset = 0
    while True:
        begun, size, shift = offset, 0, 0
        while True:
            byte = stream.read(1)
            if not byte:
                if offset == begun:
                    return
                raise BadStreamError(begun, "must be the length of a message, not cut off")
            offset += 1
            size |= (byte[0] & 0x7F) << shift
            shift += 7
            if byte[0] < 0x80:
                break
            if shift >= 64:
                said = "must be the length of a message, not a number of more than 64 bits"
                raise BadStreamError(begun, said)
        if size > MAX_MESSAGE_BYTES:
            said = f"must be a message of at most {MAX_MESSAGE_BYTES:,} bytes, not of {size:,}"
            raise BadStreamError(begun, said)
        data = stream.read(size)
        offset += len(data)
        if len(data) < size:
            said = f"must be a message of {size:,} bytes, as its length says, not of {len(data):,}"
            raise BadStreamError(begun, said)
        yield begun, data


def behind_length(message: Any) -> bytes:
    """Return a message prefixed with its length."""
    data = message.SerializeToString(deterministic=True)
    size, length = len(data), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    return bytes(length) + data
