"""Arrays in NumPy's .npz files, limited in size and without pickles."""

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.lib import format as npy

from fred_hw.errors import InputError
from fred_hw.reading import open_bytes

__all__ = ["MAX_BYTES", "read_arrays"]

MAX_BYTES = 1 << 34
"""Largest total size of the arrays in a file [B]."""


def read_arrays(path: Path) -> Mapping[str, Any]:
    """Return the arrays in a file, keyed by name in file order.

    Raises
    ------
    InputError
        The file is missing, or no .npz file of plain arrays, or too large.
    """
    with open_bytes(path) as file:
        return _arrays(file, str(path))


def _arrays(file: BinaryIO, source: str) -> Mapping[str, Any]:
    field = ""
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(one.file_size for one in archive.infolist()) > MAX_BYTES:
                message = f"must have arrays of at most {MAX_BYTES:,} bytes in all, not more"
                raise InputError(source, "", message)
            found: dict[str, Any] = {}
            for info in archive.infolist():
                field = info.filename.removesuffix(".npy")
                if field == info.filename:
                    raise InputError(source, field, "must be an array of NumPy, in a .npy member")
                with archive.open(info) as member:
                    _check_size(member, info.file_size)
                with archive.open(info) as member:
                    found[field] = npy.read_array(cast("BinaryIO", member), allow_pickle=False)
            return found
    except (
        *(
            zipfile.BadZipFile,
            zipfile.LargeZipFile,
            ValueError,
            KeyError,
            EOFError,
            OSError,
            zlib.error,
        ),
        *(RuntimeError, NotImplementedError, MemoryError, SyntaxError, TypeError),
        *(tokenize.TokenError, RecursionError, AssertionError, struct.error),
    ):
        kind = "an array of NumPy without pickled objects" if field else "a .npz file of NumPy"
        raise InputError(source, field, f"must be {kind}") from None


def _check_size(member: Any, size: int) -> None:
    """Fail if an array's header claims more bytes than its archive member contains.

    Raises
    ------
    ValueError
        The array is larger than its member, or contains pickled objects.
    """
    version = npy.read_magic(member)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(member)
    if dtype.hasobject or np.prod([float(one) for one in shape]) * dtype.itemsize > size:
        raise ValueError("array is larger than its member of the archive")
