"""Level: a mesh whose routers reduce and multicast, to compare FRED with."""

from typing import Any

from fred_hw.datapath.network import network_latency_cycles
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.spec import ReducingMeshSpec, load_reducing_mesh
from fred_hw.switch.switch import ADDED_CYCLES
from gen.emitter import VerilogEmitter
from gen.level import LEVELS, Built, Level, check_inputs
from gen.manifest_parts import streams
from gen.reducing_mesh_top import reducing_mesh_ports, reducing_mesh_top, switches_of

__all__ = ["ReducingMeshLevel"]


class ReducingMeshLevel(Level[ReducingMeshSpec]):
    """Connected switches around crossbars; latency is that of a lone flit through the largest."""

    model = ReducingMeshSpec
    load = staticmethod(load_reducing_mesh)
    text = "a mesh file's mesh of routers that reduce and multicast"
    description = "Mesh of routers that reduce and multicast, a baseline of FRED"

    def name(self, spec: ReducingMeshSpec) -> str:
        return spec.name

    def check(self, spec: ReducingMeshSpec, source: str) -> None:
        super().check(spec, source)
        for switch in switches_of(ReducingMesh(spec)).values():
            check_inputs(switch, source)

    def build(self, spec: ReducingMeshSpec, emitter: VerilogEmitter) -> Built:
        plan = ReducingMesh(spec)
        switches = switches_of(plan)
        for switch in switches.values():
            emitter.add(switch)
        modules = dict.fromkeys(emitter.modules, 0)
        for one in plan.units:
            for name, count in emitter.count(switches[one.spec].unit_name).items():
                modules[name] += count
        text = f"{emitter.verilog()}\n{reducing_mesh_top(plan)}"
        return Built(text, [*reducing_mesh_ports(plan)], {**modules, spec.name: 1})

    def latency_cycles(self, spec: ReducingMeshSpec) -> int:
        return max(
            network_latency_cycles(one.spec) + ADDED_CYCLES for one in ReducingMesh(spec).units
        )

    def manifest(self, spec: ReducingMeshSpec) -> dict[str, Any]:
        plan = ReducingMesh(spec)
        switches = switches_of(plan)
        routers = {
            one.name: {
                "module": switches[one.spec].unit_name,
                "directions": list(one.directions),
            }
            for one in plan.units
        }
        return {
            "addresses": [[one.x, one.y, one.direction] for one in spec.plan.places],
            "routers": routers,
            **streams("s<k>_axis", "m<k>_axis", spec.link),
            "link_digest": spec.link.digest,
        }


LEVELS.add("reducing_mesh", ReducingMeshLevel(), rank=4.5)
