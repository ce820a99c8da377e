"""Everything generated from the specification of a mesh, as text in memory."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fred_hw.checks import check_choice
from fred_hw.mesh.router import ERRORS, HOP_CYCLES, MeshRouter, router_name
from fred_hw.mesh.spec import DIRECTIONS, MeshSpec

from .any_design import AnyDesign, companion_names
from .companions.manifest import any_manifest, streams
from .emitter import VerilogEmitter
from .mesh_top import mesh_ports, mesh_top, router_kinds
from .ports import module_ports

__all__ = [
    "MESH_LEVELS",
    "MeshDesign",
    "generate_mesh",
    "mesh_design_name",
    "mesh_file_names",
]

MESH_LEVELS = ("mesh", "router")
"""What can be generated: the whole mesh, or the router with all ports alone."""


@dataclass(frozen=True, kw_only=True)
class MeshDesign(AnyDesign):
    """Generated Verilog of a mesh or a router and what lies beside it, at one of ``MESH_LEVELS``.

    ``latency_cycles`` are those of a lone flit through a router.

    Parameters
    ----------
    spec : MeshSpec
        What it was generated from.
    others
        As of any design.
    """

    spec: MeshSpec

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What a person or tool needs to use the Verilog, JSON-friendly."""
        own = {
            "addresses": [[one.x, one.y, one.direction] for one in self.spec.places],
            "directions": list(DIRECTIONS),
            "errors": list(ERRORS),
            **streams("s<k>_axis", "m<k>_axis"),
            "link_digest": self.spec.link.digest,
        }
        return any_manifest(self, self.spec.model_dump(), own)


def generate_mesh(
    mesh: MeshSpec, emitter: VerilogEmitter | None = None, level: str = "mesh"
) -> MeshDesign:
    """Generate a mesh, or the router of it that has all ports.

    Parameters
    ----------
    mesh : MeshSpec
        What to generate.
    emitter : VerilogEmitter, optional
        The writer; one with replacements puts faults into the hardware.
    level : str
        One of ``MESH_LEVELS``.

    Raises
    ------
    ValueError
        There is no such level.
    """
    check_choice("level", level, MESH_LEVELS)
    emitter = emitter or VerilogEmitter()
    kinds = router_kinds(mesh) if level == "mesh" else [DIRECTIONS]
    routers = {kind: MeshRouter(mesh=mesh, directions=kind) for kind in kinds}
    names = {kind: router.unit_name for kind, router in routers.items()}
    for router in routers.values():
        emitter.add(router)
    if level == "mesh":
        modules = _count(mesh, emitter, names)
        text = f"{emitter.verilog()}\n{mesh_top(mesh, names)}"
        ports = mesh_ports(mesh)
    else:
        modules, text = emitter.count(names[DIRECTIONS]), emitter.verilog()
        ports = module_ports(routers[DIRECTIONS])
    return MeshDesign(
        spec=mesh,
        level=level,
        name=mesh_design_name(mesh, level),
        verilog=text,
        ports=tuple(ports),
        modules=modules,
        units=emitter.units,
        latency_cycles=HOP_CYCLES,
    )


def _count(
    mesh: MeshSpec, emitter: VerilogEmitter, names: dict[tuple[str, ...], str]
) -> dict[str, int]:
    """Return how often each module stands in a mesh."""
    totals = dict.fromkeys(emitter.modules, 0)
    for y in range(mesh.height):
        for x in range(mesh.width):
            for name, count in emitter.count(names[mesh.directions(x, y)]).items():
                totals[name] += count
    return {**totals, mesh.name: 1}


def mesh_file_names(mesh: MeshSpec, level: str = "mesh") -> list[str]:
    """Return the names of the files of a design, which are known before it is generated."""
    return companion_names(mesh_design_name(mesh, level), level)


def mesh_design_name(mesh: MeshSpec, level: str) -> str:
    """Return the name of the top module of a mesh, or of its router."""
    if level == "mesh":
        return mesh.name
    return router_name(mesh, DIRECTIONS)
