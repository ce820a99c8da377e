"""Verilog on which records are measured, and its canonical hash.

Generating all designs takes minutes, so hashes are kept: each is identified by the specification,
the generating sources, and the versions of their tools.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import fred_hw
import gen
from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.files import FileModel
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.mesh.router import MeshRouter
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec
from gen.canonical import canonical_hash
from gen.design import generate
from gen.emitter import VerilogEmitter
from gen.wafer_top import modules_of, wafer_top

from .sim.cache import built
from .sim.kept import kept, source_digest

__all__ = [
    "CANONICAL",
    "MeasuredDesign",
    "benes_design",
    "crossbar_design",
    "endpoint_design",
    "interconnect_design",
    "mesh_design",
    "mesh_with_endpoints_design",
    "plane_design",
    "reducing_mesh_design",
    "router_design",
    "routers_design",
    "switch_design",
]

CANONICAL = "canonical-hash"
"""Name of canonical hashes in the build cache."""


@dataclass(frozen=True)
class MeasuredDesign:
    """Verilog on which a record is measured.

    Parameters
    ----------
    write : Callable
        Function of this module that returns the texts of ``models``.
    models : tuple of FileModel
        Specifications.
    """

    write: Callable[..., Sequence[str]]
    models: tuple[FileModel, ...]

    @property
    def sha256(self) -> str:
        """Canonical hash; the Verilog is only generated if the hash is not cached."""
        sources = source_digest(*_SOURCES)
        if sources is None:  # sources changed while this process runs
            return canonical_hash(*self.write(*self.models))
        content = [sources, self.write.__name__, *(one.model_dump_json() for one in self.models)]

        def build(folder: Path) -> None:
            (folder / "sha256").write_text(canonical_hash(*self.write(*self.models)))

        return (built(CANONICAL, content, build) / "sha256").read_text()


_SOURCES = (*map(Path, (*fred_hw.__path__, *gen.__path__)), Path(__file__))


def interconnect_design(spec: SwitchSpec) -> MeasuredDesign:
    """Return the interconnect of a switch."""
    return MeasuredDesign(_interconnect, (spec,))


def crossbar_design(spec: SwitchSpec) -> MeasuredDesign:
    """Return a full crossbar with reduction trees."""
    return MeasuredDesign(_crossbar, (spec,))


def benes_design(spec: SwitchSpec) -> MeasuredDesign:
    """Return a Benes network with adders."""
    return MeasuredDesign(_benes, (spec,))


def switch_design(spec: SwitchSpec) -> MeasuredDesign:
    """Return a whole switch."""
    return MeasuredDesign(_switch, (spec,))


def endpoint_design(spec: SwitchSpec) -> MeasuredDesign:
    """Return a collective endpoint."""
    return MeasuredDesign(_endpoint, (spec,))


def mesh_design(mesh: MeshSpec) -> MeasuredDesign:
    """Return the routers of a mesh."""
    return MeasuredDesign(_mesh, (mesh,))


def reducing_mesh_design(mesh: ReducingMeshSpec) -> MeasuredDesign:
    """Return a mesh whose routers reduce and multicast."""
    return MeasuredDesign(_reducing_mesh, (mesh,))


def mesh_with_endpoints_design(mesh: MeshSpec) -> MeasuredDesign:
    """Return the routers of a mesh, with an endpoint at each."""
    return MeasuredDesign(_mesh_with_endpoints, (mesh,))


def router_design(mesh: MeshSpec) -> MeasuredDesign:
    """Return a router with all directions of a mesh."""
    return routers_design([mesh])


def routers_design(meshes: Sequence[MeshSpec]) -> MeasuredDesign:
    """Return a router with all directions, for each mesh."""
    return MeasuredDesign(_routers, tuple(dict.fromkeys(meshes)))


def plane_design(wafer: WaferSpec) -> MeasuredDesign:
    """Return a plane of a wafer: its endpoint, its chiplets and the top."""
    return MeasuredDesign(_plane, (wafer,))


def _interconnect(spec: SwitchSpec) -> list[str]:
    return [kept(generate, spec).verilog]


def _crossbar(spec: SwitchSpec) -> list[str]:
    return [kept(generate, spec, level="crossbar").verilog]


def _benes(spec: SwitchSpec) -> list[str]:
    return [kept(generate, spec, level="benes").verilog]


def _switch(spec: SwitchSpec) -> list[str]:
    return [kept(generate, spec, level="switch").verilog]


def _endpoint(spec: SwitchSpec) -> list[str]:
    return [kept(generate, spec, level="endpoint").verilog]


def _mesh(mesh: MeshSpec) -> list[str]:
    return [kept(generate, mesh, level="mesh").verilog]


def _reducing_mesh(mesh: ReducingMeshSpec) -> list[str]:
    return [kept(generate, mesh, level="reducing_mesh").verilog]


def _mesh_with_endpoints(mesh: MeshSpec) -> list[str]:
    emitter = VerilogEmitter()
    emitter.add(NpuEndpoint(spec=mesh.link))
    return [generate(mesh, emitter, "mesh").verilog]


def _routers(*meshes: MeshSpec) -> list[str]:
    emitter = VerilogEmitter()
    for mesh in meshes:
        emitter.add(MeshRouter(mesh=mesh, directions=DIRECTIONS))
    return [emitter.verilog()]


def _plane(wafer: WaferSpec) -> list[str]:
    plane = Plane(wafer)
    chiplets = dict.fromkeys(one.spec for one in plane.units)
    units = [text for spec in chiplets for text in _switch(spec)]
    return [*_endpoint(wafer.link), *units, wafer_top(plane, modules_of(wafer))]
