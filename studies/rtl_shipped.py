"""Validation of the model against RTL simulation: built-in records and those of users."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.files import FileModel, name_in, validate
from fred_hw.reading import read_data
from perfmodel.switch_timing.record import RECORDS

from .rtl import CyclesRecord, RtlRow
from .rtl_mesh import (
    SHIPPED_MESH_CYCLES,
    SHIPPED_TREE_CYCLES,
    MeshRecord,
    load_mesh_cycles,
    mesh_against_rtl,
)
from .rtl_plane import PlaneRecord, load_plane_cycles, plane_against_rtl

__all__ = [
    "SHIPPED_CYCLES",
    "SHIPPED_PLANES",
    "RtlComparison",
    "record_against_rtl",
    "shipped_against_rtl",
]

SHIPPED_PLANES = {
    "wafer-20": ("", "", "a plane of "),
    "wafer-20-sampled": ("sampled_", "", "strategies drawn at random, a plane of "),
    "wafer-20-controllers": ("storage_", "", "a plane with endpoints at I/O controllers of "),
    "wafer-20-a": ("fred_a_", "FRED-A", "FRED-A, by endpoints, a plane of "),
    "wafer-20-b": ("fred_b_", "FRED-B", "FRED-B, by switches, a plane of "),
}
"""Records of planes, with the first fields of ``RtlComparison`` for each."""

SHIPPED_MESHES = {
    "mesh-5x4": ("mesh_", "mesh", "", SHIPPED_MESH_CYCLES),
    "mesh-5x4-trees": (
        "trees_",
        "mesh",
        "schedule tables, whose setup of a step is calibrated, of ",
        SHIPPED_TREE_CYCLES,
    ),
}
"""Records of meshes, with the first fields of ``RtlComparison`` and the file of each."""

SHIPPED_CYCLES = (*SHIPPED_PLANES, *SHIPPED_MESHES)
"""All records, those of meshes last."""


_Compare = Callable[[Any], tuple[RtlRow, ...]]


class RtlComparison(NamedTuple):
    """A record compared with the model.

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
def shipped_against_rtl(name: str) -> RtlComparison:
    """Return the cached comparison of one of ``SHIPPED_CYCLES``; the mesh's 136 rows take 45 s."""
    if name in SHIPPED_MESHES:
        key, fabric, title, path = SHIPPED_MESHES[name]
        mesh = load_mesh_cycles(path)
        return RtlComparison(key, fabric, title, mesh, mesh_against_rtl(mesh))
    record = load_plane_cycles(RECORDS / f"{name}.json")
    return RtlComparison(*SHIPPED_PLANES[name], record, plane_against_rtl(record))


_KINDS: Mapping[str, tuple[type[CyclesRecord[Any, Any, Any]], str, _Compare]] = {
    "fred-wafer-cycles/1": (PlaneRecord, "a plane of ", plane_against_rtl),
    "fred-mesh-cycles/1": (MeshRecord, "", mesh_against_rtl),
}
"""By schema: class of a record, prefix of its name, and function that compares it."""


class _Head(FileModel, extra="ignore"):
    """The field of a file that names its schema."""

    file_kind: ClassVar[str] = "a record of phases in RTL"

    schema_name: Annotated[str, Field(alias="schema"), name_in(_KINDS)]


def record_against_rtl(path: Path) -> RtlComparison:
    """Return the comparison of the model with a record that ``fred characterize`` wrote.

    Raises
    ------
    InputError
        It cannot be read, is no record of phases, or is not valid; names the field.
    """
    data = read_data(path)
    model, title, compare = _KINDS[validate(_Head, data, str(path)).schema_name]
    record = validate(model, data, str(path))
    try:
        return RtlComparison("", "", title, record, compare(record))
    except InputError as error:  # of hardware that the model does not know
        raise InputError(str(path), error.field, error.message) from None
