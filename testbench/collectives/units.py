"""Verilog of a switch or a mesh with endpoints, or of a router, each distinct module once."""

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.mesh.router import MeshRouter
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import Switch
from gen.design import generate
from gen.emitter import VerilogEmitter
from testbench.sim.kept import Kept, kept

__all__ = ["mesh_and_endpoint", "router_verilog", "switch_and_endpoint"]


def switch_and_endpoint(spec: SwitchSpec) -> tuple[str, tuple[str, str]]:
    """Return the Verilog text, with the module names of the switch and of the endpoint."""
    found = kept(_switch_and_endpoint, spec)
    switch, endpoint = found.name.split()
    return found.verilog, (switch, endpoint)


def _switch_and_endpoint(spec: SwitchSpec, emitter: VerilogEmitter) -> Kept:
    units = Switch(spec=spec), NpuEndpoint(spec=spec)
    for unit in units:
        emitter.add(unit)
    return Kept(" ".join(unit.unit_name for unit in units), emitter.verilog())


def mesh_and_endpoint(mesh: MeshSpec) -> str:
    """Return the Verilog text of a mesh and of the endpoint at its routers."""
    return kept(_mesh_and_endpoint, mesh).verilog


def router_verilog(router: MeshRouter) -> str:
    """Return the Verilog text of a router with the ports it has in a mesh."""
    return kept(_router, router.mesh, directions=router.directions).verilog


def _router(mesh: MeshSpec, emitter: VerilogEmitter, directions: tuple[str, ...]) -> Kept:
    router = MeshRouter(mesh=mesh, directions=directions)
    emitter.add(router)
    return Kept(router.unit_name, emitter.verilog())


def _mesh_and_endpoint(mesh: MeshSpec, emitter: VerilogEmitter) -> Kept:
    emitter.add(NpuEndpoint(spec=mesh.link))
    return Kept(mesh.name, generate(mesh, emitter, "mesh").verilog)
