# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Hardware units of the plan of a fabric."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.fabric_plan import FabricPlan
from fred_hw.mesh.router import MeshRouter
from fred_hw.mesh.spec import MeshSpec
from fred_hw.switch.switch import Switch
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec

__all__ = ["FabricUnits", "fabric_units"]


class FabricUnits(NamedTuple):
    """A plan and its hardware: the endpoint of each NPU, and the unit of each unit of the plan."""

    plan: FabricPlan[Any]
    endpoint: NpuEndpoint
    units: Sequence[Switch | MeshRouter]


def fabric_units(fabric: WaferSpec | MeshSpec) -> FabricUnits:
    """Return the plan of a plane or a mesh with its hardware units; equal units are one object."""
    endpoint = NpuEndpoint(spec=fabric.link)
    if isinstance(fabric, WaferSpec):
        plane = Plane(fabric)
        switches = {
            spec: Switch(spec=spec) for spec in dict.fromkeys(one.spec for one in plane.units)
        }
        return FabricUnits(plane, endpoint, [switches[one.spec] for one in plane.units])
    kinds = dict.fromkeys(one.directions for one in fabric.plan.units)
    routers = {kind: MeshRouter(mesh=fabric, directions=kind) for kind in kinds}
    return FabricUnits(
        fabric.plan, endpoint, [routers[one.directions] for one in fabric.plan.units]
    )
