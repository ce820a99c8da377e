"""Cycles in RTL that are shipped, each record beside the model."""

from functools import cache
from typing import Any, NamedTuple

from perfmodel.switch_timing.record import RECORDS

from .rtl import CyclesRecord, RtlRow
from .rtl_mesh import load_mesh_cycles, shipped_mesh_rows
from .rtl_plane import load_plane_cycles, plane_beside_rtl

__all__ = ["SHIPPED_PLANES", "Beside", "shipped_beside_rtl"]

SHIPPED_PLANES = {
    "wafer-20": ("", "a plane of "),
    "wafer-20-controllers": ("storage_", "a plane with endpoints at I/O controllers of "),
    "wafer-20-a": ("fred_a_", "FRED-A, by endpoints, a plane of "),
    "wafer-20-b": ("fred_b_", "FRED-B, by switches, a plane of "),
}
"""Records of planes: what names of their rows begin with, and what stands before their names."""


class Beside(NamedTuple):
    """A record beside the model.

    Attributes
    ----------
    key, title : str
        What names of its rows begin with, and what stands before its name.
    record : CyclesRecord
        What was measured.
    rows : tuple of RtlRow
        Each of its rows, and the model.
    """

    key: str
    title: str
    record: CyclesRecord[Any, Any, Any]
    rows: tuple[RtlRow, ...]


@cache
def shipped_beside_rtl() -> dict[str, Beside]:
    """Return all records by their names, that of the mesh last; they are simulated once."""
    found: dict[str, Beside] = {}
    for name, said in SHIPPED_PLANES.items():
        record = load_plane_cycles(RECORDS / f"{name}.json")
        found[name] = Beside(*said, record, plane_beside_rtl(record))
    found["mesh-5x4"] = Beside("mesh_", "", load_mesh_cycles(), shipped_mesh_rows())
    return found
