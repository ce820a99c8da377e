"""The interface of readers of trained networks, and the registry of readers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fred_hw.errors import InputError
from fred_hw.registry import Registry

from .architecture import Architecture, build
from .arrays import LARGEST, Array
from .network import Network

__all__ = ["READERS", "Reader", "finite", "numbers", "read_network", "tensor"]

Tensors = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Reader:
    """A format of trained networks.

    Parameters
    ----------
    tensors : callable or None
        Returns the tensors of a file by name, in a format without operations.
    network : callable or None
        Returns the network of a file, in a format that has operations.
    """

    tensors: Callable[[Path], Tensors] | None = None
    network: Callable[[Path], Network] | None = None


READERS: Registry[Reader] = Registry("perfmodel.repurpose.readers", "format")
"""Readers by file name ending, without the dot."""


def read_network(path: Path, architecture: Architecture | None = None) -> Network:
    """Return the trained network in a file.

    Parameters
    ----------
    path : Path
        The file; its format is that of the ending of its name.
    architecture : Architecture or None
        Operations of a file that has tensors alone; products with ReLU between them if None.

    Raises
    ------
    InputError
        The file cannot be read, or lacks a tensor, or has one of a wrong shape or with NaN.
    """
    source = str(path)
    ending = path.suffix.lower().removeprefix(".")
    reader = READERS.get(ending)
    if reader is None:
        endings = ", ".join(f".{name}" for name in READERS)
        raise InputError(source, "", f"must have a name that ends in {endings}, not {ending!r}")
    if reader.network is not None:
        if architecture is not None:
            raise InputError(source, "", "must have tensors alone to be given an architecture")
        return reader.network(path)
    assert reader.tensors is not None
    return build(reader.tensors(path), architecture, source)


def tensor(value: Any, source: str, name: str) -> Array:
    """Return a tensor in double precision.

    Raises
    ------
    InputError
        The tensor does not contain numbers, or one is not finite.
    """
    return finite(numbers(value, source, name), source, name)


def numbers(value: Any, source: str, name: str) -> Array:
    """Return a tensor in double precision, whose numbers may be infinite or NaN.

    Raises
    ------
    InputError
        It has no numbers.
    """
    if value.dtype.kind not in "fiub":
        raise InputError(source, name, f"must be a tensor of numbers, not of {value.dtype}")
    return np.asarray(value).astype(np.float64)


def finite(found: Array, source: str, name: str) -> Array:
    """Return a tensor whose numbers are all finite.

    Raises
    ------
    InputError
        A number is infinite, NaN or too large.
    """
    if not (np.abs(found) <= LARGEST).all():
        message = f"must have numbers of at most {LARGEST:g}, not NaN, infinity or larger ones"
        raise InputError(source, name, message)
    return found
