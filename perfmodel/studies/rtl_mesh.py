"""The model beside the RTL of a mesh: cycles of phases on routers with endpoints, and ours."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from fred_hw.compiler.placement import Strategy, phases
from fred_hw.files import FileModel, load_model, name_in
from fred_hw.mesh.algorithm import ALGORITHMS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from perfmodel.collectives.run import run_collectives
from perfmodel.switch_timing.endpoint import load_endpoint_record
from perfmodel.switch_timing.record import RECORDS, Simulator, Source, as_tuple
from perfmodel.switch_timing.router import RouterTiming, load_link_record
from perfmodel.topology.mesh import MeshTopology

from .rtl import Count, RtlRow, beside, groups_of

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

_ALGORITHMS = {**{name: one.model for name, one in ALGORITHMS.items()}, "unicasts": "direct"}
"""Names that the model has for what the compiler does."""


class MeshRow(FileModel):
    """Cycles of a phase alone.

    Parameters
    ----------
    strategy, phase : str
        What was done.
    algorithm : str
        How: one of ``ALGORITHMS``, or ``unicasts``.
    flits, cycles : int
        As of a wafer.
    """

    strategy: str
    phase: str
    algorithm: Annotated[str, name_in(_ALGORITHMS)]
    flits: Annotated[int, Field(ge=1, lt=1 << 40)]
    cycles: Annotated[int, Field(ge=1, lt=1 << 40)]


class MeshRecord(FileModel):
    """What co-simulation measured on a mesh with an endpoint at each router.

    Parameters
    ----------
    schema : str
        ``fred-mesh-cycles/1``; the field is called ``schema_name`` in Python.
    name : str
        Name of the mesh.
    spec, measured_spec : MeshSpec
        The mesh, and what was simulated, with fewer lanes.
    simulators, seed, source : tuple of Simulator, int, Source
        Who measured, with which random seed, and what: the Verilog of routers and endpoints.
    link_cycles, memory_cycles : int
        Of each link in one direction, and from a read of memory to its data [cycles].
    flits_checked : int
        Flits of results compared with the golden model while measuring.
    rows : tuple of MeshRow
        What was measured.
    """

    schema_name: Annotated[Literal["fred-mesh-cycles/1"], Field(alias="schema")]
    name: str
    spec: MeshSpec
    measured_spec: MeshSpec
    simulators: Annotated[tuple[Simulator, ...], BeforeValidator(as_tuple), Field(min_length=1)]
    seed: int
    source: Source
    link_cycles: Count
    memory_cycles: Count
    flits_checked: Annotated[int, Field(ge=1)]
    rows: Annotated[tuple[MeshRow, ...], BeforeValidator(as_tuple), Field(min_length=1)]


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
    rate = hz * (mesh.link.data_width + HEADER_BITS + CRC_BITS) / 8
    return MeshTopology(
        name=record.name,
        columns=mesh.width,
        rows=mesh.height,
        link_bytes_per_s=rate,
        io_bytes_per_s=rate,
        link_latency_s=record.link_cycles / hz,
        link_timing=timing,
        endpoint=load_endpoint_record("endpoint", memory_s=record.memory_cycles / hz),
    )


def mesh_beside_rtl(record: MeshRecord) -> tuple[RtlRow, ...]:
    """Return the cycles of each phase of a record, and those of the model."""
    topology = mesh_topology(record)
    assert topology.endpoint is not None
    hz = topology.endpoint.clock.hz
    found: list[RtlRow] = []
    for row in record.rows:
        pattern, groups = groups_of(phases(Strategy.parse(row.strategy))[row.phase])
        size = row.flits * record.spec.link.data_width / 8
        result = run_collectives(
            topology,
            pattern,
            size,
            groups,
            algorithm=_ALGORITHMS[row.algorithm],
            second_first=row.phase.startswith("dp_"),
        )
        found.append(
            beside(
                (row.strategy, row.phase, row.algorithm), row.flits, row.cycles, result.time_s * hz
            )
        )
    return tuple(found)
