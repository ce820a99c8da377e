# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Level: a single router of a mesh, with all ports."""

from typing import Any

from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.router import MeshRouter
from fred_hw.mesh.spec import MeshSpec
from fred_hw.unit import Unit
from gen.level import LEVELS, UnitLevel

from .mesh import OfMesh

__all__ = ["RouterLevel"]


class RouterLevel(UnitLevel[MeshSpec], OfMesh):
    """A router with all ports."""

    text = "a router of a mesh file"
    description = "Router of a mesh with the links, virtual circuits and credits of a FRED switch"

    def manifest(self, spec: MeshSpec) -> dict[str, Any]:
        found, inside = super().manifest(spec), spec.router(DIRECTIONS)
        if inside.protocol.channels.each == 1:
            return found
        between = {
            "circuits": inside.protocol.circuits,
            "link_digest": inside.digest,
        }
        return {**found, "between_routers": between}

    def top(self, spec: MeshSpec) -> Unit:
        return MeshRouter(mesh=spec, directions=DIRECTIONS)


LEVELS.add("router", RouterLevel(), rank=5)
