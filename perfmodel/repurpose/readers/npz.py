"""Tensors in NumPy's .npz files."""

from collections.abc import Mapping
from pathlib import Path

from perfmodel.repurpose.arrays import Array
from perfmodel.repurpose.arrays_file import read_arrays
from perfmodel.repurpose.reader import READERS, Reader, tensor

__all__ = ["read_npz"]


def read_npz(path: Path) -> Mapping[str, Array]:
    """Return the tensors in a file, keyed by name."""
    return {name: tensor(one, str(path), name) for name, one in read_arrays(path).items()}


READERS.add("npz", Reader(tensors=read_npz), rank=0)
