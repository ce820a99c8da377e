"""Specifications of wafers from files."""

from collections.abc import Mapping
from typing import Any

from fred_hw.load import has_key, load_model

from .spec import WaferSpec

__all__ = ["is_wafer", "load_wafer"]


def load_wafer(source: str, changes: Mapping[str, Any] | None = None) -> WaferSpec:
    """Return the wafer in a YAML file ``source``, with changed fields; see ``load_model``."""
    return load_model(WaferSpec, source, changes)


def is_wafer(source: str) -> bool:
    """Return whether ``source`` is a file that describes a wafer, which has switches."""
    return has_key(source, "switches")
