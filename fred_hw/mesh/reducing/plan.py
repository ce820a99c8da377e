"""The plan of a mesh whose routers reduce and multicast: routers, links and unicast routes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fred_hw.fabric_plan import FabricPlan, FabricUnit
from fred_hw.spec import SwitchSpec

from .spec import ReducingMeshSpec

__all__ = ["ReducingMesh", "ReducingRouter"]


@dataclass(frozen=True, kw_only=True)
class ReducingRouter(FabricUnit):
    """A router that reduces and multicasts: a switch.

    Parameters
    ----------
    name : str
        ``router_<x>_<y>``.
    ends : tuple of End
        Peer of each port.
    directions : tuple of str
        Direction of each port.
    spec : SwitchSpec
        Specification of the switch.
    """

    directions: tuple[str, ...]
    spec: SwitchSpec

    @property
    def ports(self) -> Sequence[str]:
        """The directions."""
        return self.directions


class ReducingMesh(FabricPlan[ReducingRouter]):
    """Routers and links of a mesh, with X-Y routes of unicasts.

    Parameters
    ----------
    mesh : ReducingMeshSpec
        The mesh.
    """

    def __init__(self, mesh: ReducingMeshSpec) -> None:
        self.mesh = mesh
        self.npus = self.endpoints = mesh.routers

    @cached_property
    def units(self) -> Sequence[ReducingRouter]:
        return tuple(
            ReducingRouter(
                name=one.name,
                ends=one.ends,
                directions=one.directions,
                spec=self.mesh.switch(len(one.ends)),
            )
            for one in self.mesh.plan.units
        )

    def exit(self, unit: int, source: int, destination: int, *, alternate: bool = False) -> int:
        return self.mesh.plan.exit(unit, source, destination)

    def port_for(self, unit: int, destination: int) -> int:
        """Return the output port of a router for unicasts to an address, whatever the source."""
        return self.exit(unit, destination, destination)
