"""Cycles in RTL that are shipped, each record beside the model."""

from functools import cache
from typing import Any, NamedTuple

from perfmodel.switch_timing.record import RECORDS

from .rtl import CyclesRecord, RtlRow
from .rtl_mesh import load_mesh_cycles, mesh_beside_rtl
from .rtl_plane import load_plane_cycles, plane_beside_rtl

__all__ = ["SHIPPED_CYCLES", "SHIPPED_PLANES", "Beside", "shipped_beside_rtl"]

SHIPPED_PLANES = {
    "wafer-20": ("", "", "a plane of "),
    "wafer-20-controllers": ("storage_", "", "a plane with endpoints at I/O controllers of "),
    "wafer-20-a": ("fred_a_", "FRED-A", "FRED-A, by endpoints, a plane of "),
    "wafer-20-b": ("fred_b_", "FRED-B", "FRED-B, by switches, a plane of "),
}
"""Records of planes, and the first members of ``Beside`` for each."""

_MESH = "mesh-5x4"

SHIPPED_CYCLES = (*SHIPPED_PLANES, _MESH)
"""All records, that of the mesh last."""


class Beside(NamedTuple):
    """A record beside the model.

    Attributes
    ----------
    key, fabric, title : str
        What names of its rows begin with in JSON, what it is of beside planes of FRED-C and D, and
        what stands before its name.
    record : CyclesRecord
        What was measured.
    rows : tuple of RtlRow
        Each of its rows, and the model.
    """

    key: str
    fabric: str
    title: str
    record: CyclesRecord[Any, Any, Any]
    rows: tuple[RtlRow, ...]


@cache
def shipped_beside_rtl(name: str) -> Beside:
    """Return one of ``SHIPPED_CYCLES``, which is simulated once: all 136 of the mesh take 45 s."""
    if name == _MESH:
        mesh = load_mesh_cycles()
        return Beside("mesh_", "mesh", "", mesh, mesh_beside_rtl(mesh))
    record = load_plane_cycles(RECORDS / f"{name}.json")
    return Beside(*SHIPPED_PLANES[name], record, plane_beside_rtl(record))
