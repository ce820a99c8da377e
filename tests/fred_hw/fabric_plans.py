"""Plans of several fabrics, and a routing that no mesh can have."""

from typing import Any

from fred_hw.fabric_plan import FabricPlan
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.mesh.routing import Fork
from fred_hw.mesh.routings.dateline import Dateline
from fred_hw.mesh.routings.xy import Xy
from fred_hw.mesh.spec import MeshSpec
from tests.fred_hw.wafer.test_plane import plane

__all__ = ["PLANS", "ROW", "TORUS", "EitherOutput", "OneChannel"]

ROW = MeshSpec(width=3, height=1, lanes=1)
TORUS = MeshSpec(width=4, height=4, lanes=1, wrap=True, controllers=False, routing="dateline")
PLANS: dict[str, FabricPlan[Any]] = {
    "wafer": plane("wafer-20"),
    "narrow wafer": plane("wafer-20-narrow"),
    "three levels": plane("three levels"),
    "mesh": MeshSpec(width=5, height=4, lanes=1).plan,
    "bare mesh": MeshSpec(width=3, height=3, lanes=1, controllers=False, routing="odd_even").plan,
    "reducing mesh": ReducingMesh(ReducingMeshSpec(width=4, height=3, lanes=1)),
    "row": ROW.plan,
    "torus": TORUS.plan,
    "torus of odd lengths": TORUS.with_changes(width=5, height=3).plan,
    "ring": TORUS.with_changes(height=1).plan,
}


class EitherOutput(Xy):
    """All turns, which no mesh can have."""

    def port(self, fork: Fork) -> str:
        return fork.across if sum(fork.ends) % 2 else fork.along


class OneChannel(Dateline):
    """A torus without a dateline."""

    channels = 1

    def channel(self, channel: int, *, straight: bool, wraps: bool) -> int:
        return 0
