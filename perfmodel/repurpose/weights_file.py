"""Weights of a placed network as a .npz or .safetensors file, with the model's names."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fred_hw.errors import InputError

from .arrays import extra_module
from .network import Network
from .operations import Normalize, Product, Scale

__all__ = ["WRITTEN", "check_ending", "tensors_of", "weights_bytes"]

WRITTEN = (".npz", ".safetensors")
"""File name endings of supported output formats."""

Singles = Mapping[str, NDArray[np.float32]]


def tensors_of(network: Network) -> Singles:
    """Return the tensors of a network in single precision, keyed by name."""
    found: dict[str, NDArray[np.float32]] = {}
    for one in network.operations:
        if isinstance(one, Product):
            pair = (one.weight, one.bias)
        elif isinstance(one, Scale | Normalize):
            pair = (one.factor, one.summand)
        else:
            continue
        for name, value in zip(("weight", "bias"), pair, strict=True):
            if value is not None:
                found[f"{one.name}.{name}"] = np.ascontiguousarray(value, dtype=np.float32)
    return found


def check_ending(path: Path) -> None:
    """Fail if a file name does not end in one of ``WRITTEN``.

    Raises
    ------
    InputError
        The name has another ending.
    """
    if path.suffix not in WRITTEN:
        raise InputError(str(path), "", f"must have a name that ends in {' or '.join(WRITTEN)}")


def weights_bytes(network: Network, path: Path) -> bytes:
    """Return the content of a weights file, in the format of the file name.

    Raises
    ------
    InputError
        The package of the format is not installed.
    """
    tensors = tensors_of(network)
    if path.suffix == ".safetensors":
        library: Any = extra_module("safetensors.numpy", "safetensors")
        return library.save(dict(tensors))
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **tensors)
    return file.getvalue()
