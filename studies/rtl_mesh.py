"""Validation of the model against RTL simulation: phases on a mesh of routers with endpoints."""

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

from .rtl import CyclesRecord, CyclesRow, RtlRow, Some, against_rtl

__all__ = [
    "SHIPPED_MESH_CYCLES",
    "SHIPPED_TREE_CYCLES",
    "MeshRecord",
    "MeshRow",
    "load_mesh_cycles",
    "mesh_against_rtl",
    "mesh_topology",
]

SHIPPED_MESH_CYCLES = RECORDS / "mesh-5x4-phases.json"
"""Record with the cycles of phases on the published mesh."""

SHIPPED_TREE_CYCLES = RECORDS / "mesh-5x4-trees.json"
"""Records with the cycles of tree all-reduces, run from schedule tables, on meshes."""

_UNICASTS = "unicasts"
"""The compiler's name of the algorithm that the model calls ``direct``."""


class MeshRow(CyclesRow):
    """Cycles of a phase that runs alone on a mesh.

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
        """Estimated cycles of a schedule's steps in lockstep; None for other algorithms."""
        return self.steps * self.step_cycles if self.steps and self.step_cycles else None


class MeshRecord(CyclesRecord[Literal["fred-mesh-cycles/1"], MeshSpec, MeshRow]):
    """Co-simulation measurements of a mesh with an endpoint at each router.

    Parameters
    ----------
    edges_sha256 : str, optional
        Hash of all edges of the trees, where rows are all-reduces along trees.
    """

    edges_sha256: str | None = None

    @model_validator(mode="after")
    def _check_steps(self) -> Self:
        """Fail if trees lack steps, or if rows of other algorithms have steps."""
        for number, row in enumerate(self.rows):
            for name in ("steps", "step_cycles"):
                if (getattr(row, name) is not None) != (row.algorithm == TREE_ALGORITHM):
                    message = f"must be given with {TREE_ALGORITHM}, and only with it"
                    raise refused(f"rows.{number}.{name}: {message}")
        return self


def load_mesh_cycles(path: Path = SHIPPED_MESH_CYCLES) -> MeshRecord:
    """Return the mesh record in a file.

    Raises
    ------
    InputError
        It cannot be read, or is no valid record; names the field.
    """
    return load_model(MeshRecord, path)


def mesh_topology(record: MeshRecord) -> MeshTopology:
    """Return the model of a record's mesh; links carry one flit per cycle in each direction."""
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


def mesh_against_rtl(record: MeshRecord) -> tuple[RtlRow, ...]:
    """Return each phase of a record with its measured cycles and those of the model.

    Of a schedule in lockstep the model has the estimated time of all steps.
    """
    topology = mesh_topology(record)
    assert topology.endpoint is not None
    hz = topology.endpoint.clock.hz
    return against_rtl(
        record,
        lambda row: row.algorithm,
        lambda _: topology,
        lambda row, _: "direct" if row.algorithm == _UNICASTS else row.algorithm,
        time_of=lambda row: row.lockstep_cycles and row.lockstep_cycles / hz,
        calibrated=lambda row: row.lockstep_cycles is not None,
    )
