"""Tensors in .safetensors files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fred_hw.errors import InputError
from fred_hw.reading import read_bytes
from perfmodel.repurpose.arrays import Array, extra_module
from perfmodel.repurpose.arrays_file import MAX_BYTES
from perfmodel.repurpose.reader import READERS, Reader, tensor

__all__ = ["read_safetensors"]

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "BOOL": "?",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "<u1",
}
"""Number types that are supported, with NumPy's names; BF16 as the upper half of F32."""


def read_safetensors(path: Path) -> Mapping[str, Array]:
    """Return the tensors in a file, keyed by name.

    Raises
    ------
    InputError
        The package is not installed, or the file has another format.
    """
    library: Any = extra_module("safetensors", "safetensors")
    source = str(path)
    data = read_bytes(path, MAX_BYTES)
    try:
        found: list[tuple[str, dict[str, Any]]] = library.deserialize(data)
    except library.SafetensorError:
        raise InputError(source, "", "must be a .safetensors file") from None
    return {name: tensor(_numbers(source, name, one), source, name) for name, one in found}


def _numbers(source: str, name: str, one: Mapping[str, Any]) -> Any:
    kind: str = one["dtype"]
    if kind not in _TYPES:
        message = f"must be a tensor of {', '.join(_TYPES)}, not of {kind}"
        raise InputError(source, name, message)
    found = np.frombuffer(one["data"], dtype=_TYPES[kind])
    if kind == "BF16":
        found = (found.astype(np.uint32) << 16).view(np.float32)
    return found.reshape(one["shape"])


READERS.add("safetensors", Reader(tensors=read_safetensors), rank=1)
