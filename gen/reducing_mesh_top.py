# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Verilog of a mesh whose routers reduce and multicast: switches and the wires between them."""

from collections.abc import Mapping, Sequence

from fred_hw.link.axis import axis_widths
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import Switch

from .fabric_top import FabricTop, Module
from .ports import Port, module_ports

__all__ = ["reducing_mesh_ports", "reducing_mesh_top", "switches_of"]


def switches_of(plan: ReducingMesh) -> Mapping[SwitchSpec, Switch]:
    """Return the distinct switches of a mesh."""
    specs = dict.fromkeys(one.spec for one in plan.units)
    return {spec: Switch(spec=spec) for spec in specs}


def _top(plan: ReducingMesh) -> FabricTop:
    made = switches_of(plan)
    modules = {spec: Module(one.unit_name, module_ports(one)) for spec, one in made.items()}
    return FabricTop(
        plan=plan,
        modules=[modules[one.spec] for one in plan.units],
        widths=axis_widths(plan.mesh.link.data_width),
        external="{letter}{address}_axis_",
    )


def reducing_mesh_ports(plan: ReducingMesh) -> Sequence[Port]:
    """Return the ports of a mesh whose routers reduce and multicast.

    Ports
    -----
    session_id
        Session ID of all routers: another number after each reset, constant between resets.
    router_<x>_<y>_*
        AXI4-Lite registers and ``irq`` of a router; see docs/reference/switch.md.
    s<a>_axis_tdata, tvalid, tready, tlast, tuser
        Flits from the endpoint with address a, see docs/reference/protocol.md.
    m<a>_axis_tdata, tvalid, tready, tlast, tuser
        Flits to the endpoint with address a.
    """
    top = _top(plan)
    session_id = next(one for one in top.modules[0].ports if one[0] == "session_id")
    shared = [("clk", "input", 1), ("rst", "input", 1), session_id]
    return [*shared, *top.state_ports(), *top.external_ports()]


def reducing_mesh_top(plan: ReducingMesh) -> str:
    """Return the Verilog of the top module."""
    return _top(plan).text(plan.mesh.name, [*reducing_mesh_ports(plan)])
