"""Specifications of meshes from files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError
from fred_hw.load import load_model
from fred_hw.reading import read_data

from .spec import MeshSpec

__all__ = ["is_mesh", "load_mesh"]


def load_mesh(source: str, changes: Mapping[str, Any] | None = None) -> MeshSpec:
    """Return the mesh in the YAML file ``source``, some fields changed.

    Parameters
    ----------
    source : str
        Path of a YAML file.
    changes : Mapping, optional
        Values that replace those of the file, by field name.

    Raises
    ------
    InputError
        The file cannot be read, or a field is unknown, missing or out of range.
    """
    return load_model(MeshSpec, Path(source), source, changes)


def is_mesh(source: str) -> bool:
    """Return whether ``source`` is a file that describes a mesh of routers: it has a width."""
    try:
        data = read_data(Path(source))
    except InputError:
        return False  # who reads it as something else says why
    return isinstance(data, Mapping) and "width" in data
