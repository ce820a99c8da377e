"""Comparison of the model with RTL: phases on a mesh of routers with endpoints."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import model_validator

from fred_hw.files import load_model, name_in, refused
from fred_hw.mesh.algorithm import ALGORITHMS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.mesh.tree_program import TREE_ALGORITHM
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from perfmodel.switch_timing.endpoint import load_endpoint_record
from perfmodel.switch_timing.record import RECORDS
from perfmodel.switch_timing.router import RouterTiming, load_link_record
from perfmodel.topology.mesh import MeshTopology

from .rtl import CyclesRecord, CyclesRow, RtlRow, Some, beside_rtl

__all__ = [
    "SHIPPED_MESH_CYCLES",
    "SHIPPED_TREE_CYCLES",
    "MeshRecord",
    "MeshRow",
    "load_mesh_cycles",
    "mesh_beside_rtl",
    "mesh_topology",
]

SHIPPED_MESH_CYCLES = RECORDS / "mesh-5x4-phases.json"
"""Cycles of phases on the published mesh."""

SHIPPED_TREE_CYCLES = RECORDS / "mesh-5x4-trees.json"
"""Cycles of all-reduces along trees, by schedule tables, on the same mesh."""

_UNICASTS = "unicasts"
"""What the compiler calls the algorithm that the model calls ``direct``."""


class MeshRow(CyclesRow):
    """Cycles of a phase alone on a mesh.

    Parameters
    ----------
    algorithm : str
        How: one of ``ALGORITHMS``, ``unicasts``, or ``multitree_one_port``.
    steps, step_cycles : int, optional
        Of ``multitree_one_port``: steps, and the estimated time of a step [cycles].
    """

    algorithm: Annotated[str, name_in(ALGORITHMS, _UNICASTS, TREE_ALGORITHM)]
    steps: Some | None = None
    step_cycles: Some | None = None

    @property
    def lockstep_cycles(self) -> int | None:
        """Cycles of all steps of a schedule by their estimate; None of other algorithms."""
        return self.steps * self.step_cycles if self.steps and self.step_cycles else None


class MeshRecord(CyclesRecord[Literal["fred-mesh-cycles/1"], MeshSpec, MeshRow]):
    """What co-simulation measured on a mesh with an endpoint at each router.

    Parameters
    ----------
    edges_sha256 : str, optional
        Hash of all edges of the trees, where rows are all-reduces along trees.
    """

    edges_sha256: str | None = None

    @model_validator(mode="after")
    def _check_steps(self) -> Self:
        """Refuse trees without steps, and steps of others."""
        for number, row in enumerate(self.rows):
            for name in ("steps", "step_cycles"):
                if (getattr(row, name) is not None) != (row.algorithm == TREE_ALGORITHM):
                    message = f"must be given with {TREE_ALGORITHM}, and only with it"
                    raise refused(f"rows.{number}.{name}: {message}")
        return self


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
    """Return the cycles of each phase of a record, and those of the model.

    Of a schedule in lockstep the model has the estimated time of all steps.
    """
    topology = mesh_topology(record)
    assert topology.endpoint is not None
    hz = topology.endpoint.clock.hz
    return beside_rtl(
        record,
        lambda row: row.algorithm,
        lambda _: topology,
        lambda row, _: "direct" if row.algorithm == _UNICASTS else row.algorithm,
        time_of=lambda row: row.lockstep_cycles and row.lockstep_cycles / hz,
        calibrated=lambda row: row.lockstep_cycles is not None,
    )
