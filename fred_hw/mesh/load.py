"""Specifications of meshes from files."""

from collections.abc import Mapping
from typing import Any

from fred_hw.load import has_key, load_model

from .spec import MeshSpec

__all__ = ["is_mesh", "load_mesh"]


def load_mesh(source: str, changes: Mapping[str, Any] | None = None) -> MeshSpec:
    """Return the mesh in a YAML file ``source``, with changed fields; see ``load_model``."""
    return load_model(MeshSpec, source, changes)


def is_mesh(source: str) -> bool:
    """Return whether ``source`` is a file that describes a mesh, which has a width."""
    return has_key(source, "width")
