"""Comparison of the model with RTL: phases on a mesh of routers with endpoints."""

from pathlib import Path
from typing import Annotated, Literal

from fred_hw.files import load_model, name_in
from fred_hw.mesh.algorithm import ALGORITHMS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from perfmodel.switch_timing.endpoint import load_endpoint_record
from perfmodel.switch_timing.record import RECORDS
from perfmodel.switch_timing.router import RouterTiming, load_link_record
from perfmodel.topology.mesh import MeshTopology

from .rtl import CyclesRecord, CyclesRow, RtlRow, beside_rtl

__all__ = [
    "SHIPPED_MESH_CYCLES",
    "MeshRecord",
    "MeshRow",
    "load_mesh_cycles",
    "mesh_beside_rtl",
    "mesh_topology",
]

SHIPPED_MESH_CYCLES = RECORDS / "mesh-5x4-phases.json"
"""Cycles of phases on the published mesh."""

_UNICASTS = "unicasts"
"""What the compiler calls the algorithm that the model calls ``direct``."""


class MeshRow(CyclesRow):
    """Cycles of a phase alone on a mesh.

    Parameters
    ----------
    algorithm : str
        How: one of ``ALGORITHMS``, or ``unicasts``.
    """

    algorithm: Annotated[str, name_in(ALGORITHMS, _UNICASTS)]


class MeshRecord(CyclesRecord[Literal["fred-mesh-cycles/1"], MeshSpec, MeshRow]):
    """What co-simulation measured on a mesh with an endpoint at each router."""


def load_mesh_cycles(path: Path = SHIPPED_MESH_CYCLES) -> MeshRecord:
    """Return cycles of phases from a file.

    Raises
    ------
    InputError
        It cannot be read, or is no valid record; names the field.
    """
    return load_model(MeshRecord, path)


def mesh_topology(record: MeshRecord) -> MeshTopology:
    """Return the mesh as the model has it: a link carries a flit per cycle each way."""
    mesh, timing = record.spec, load_link_record("mesh-5x4")
    assert isinstance(timing, RouterTiming)
    hz = timing.record.clock.hz
    # All bits of a flit are those of the link: headers and CRC go beside the data.
    endpoint = load_endpoint_record("endpoint", memory_s=record.memory_cycles / hz)
    rate = hz * (mesh.link.data_width + HEADER_BITS + CRC_BITS) / 8
    return MeshTopology(
        name=record.name,
        columns=mesh.width,
        rows=mesh.height,
        link_bytes_per_s=rate,
        io_bytes_per_s=rate,
        link_latency_s=record.link_cycles / hz,
        link_timing=timing,
        endpoint=endpoint.with_read_ports(mesh.endpoint.read_ports),
    )


def mesh_beside_rtl(record: MeshRecord) -> tuple[RtlRow, ...]:
    """Return the cycles of each phase of a record, and those of the model."""
    topology = mesh_topology(record)
    return beside_rtl(
        record,
        lambda row: row.algorithm,
        lambda _: topology,
        lambda row, _: "direct" if row.algorithm == _UNICASTS else row.algorithm,
    )
