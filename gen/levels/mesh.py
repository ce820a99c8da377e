"""Level: a mesh of routers."""

from typing import Any

from fred_hw.mesh.load import load_mesh
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.router import ERRORS, HOP_CYCLES
from fred_hw.mesh.spec import MeshSpec
from gen.emitter import VerilogEmitter
from gen.fabric_units import fabric_units
from gen.level import LEVELS, Built, Level
from gen.manifest_parts import streams
from gen.mesh_top import mesh_ports, mesh_top
from gen.replay import longest_in_mesh, replay_on_path

__all__ = ["MeshLevel", "OfMesh"]


class OfMesh(Level[MeshSpec]):
    """Base of the levels of a mesh; latency is that of a lone flit through a router."""

    model = MeshSpec
    load = staticmethod(load_mesh)

    def latency_cycles(self, spec: MeshSpec) -> int:
        return HOP_CYCLES

    def manifest(self, spec: MeshSpec) -> dict[str, Any]:
        return {
            "addresses": [[one.x, one.y, one.direction] for one in spec.plan.places],
            "directions": list(DIRECTIONS),
            "errors": list(ERRORS),
            **streams("s<k>_axis", "m<k>_axis", spec.link),
            "link_digest": spec.link.digest,
        }


class MeshLevel(OfMesh):
    """The connected routers of a mesh."""

    text = "the mesh of routers of a mesh file"
    description = "Mesh of routers with the links, virtual circuits and credits of a FRED switch"

    def name(self, spec: MeshSpec) -> str:
        return spec.name

    def manifest(self, spec: MeshSpec) -> dict[str, Any]:
        return {
            **super().manifest(spec),
            "replay": replay_on_path(spec.link, longest_in_mesh(spec)),
        }

    def build(self, spec: MeshSpec, emitter: VerilogEmitter) -> Built:
        routers = fabric_units(spec).units
        for router in routers:
            emitter.add(router)
        modules = dict.fromkeys(emitter.modules, 0)
        for router in routers:
            for name, count in emitter.count(router.unit_name).items():
                modules[name] += count
        text = f"{emitter.verilog()}\n{mesh_top(spec)}"
        return Built(text, mesh_ports(spec), {**modules, spec.name: 1})


LEVELS.add("mesh", MeshLevel(), rank=4)
