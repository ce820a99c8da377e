"""One ring, in the order of ``mesh_ring``."""

from collections.abc import Sequence

from fred_hw.compiler.mesh_rings import mesh_ring
from fred_hw.mesh.algorithm import ALGORITHMS, Lane, MeshAlgorithm, Place, rings
from fred_hw.mesh.spec import MeshSpec

__all__ = ["OneRing"]


class OneRing(MeshAlgorithm):
    """A single ring in one direction with all data."""

    needs = "have an NPU"

    def fits(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        return True

    def lanes(self, place: Place, group: Sequence[int], pattern: str) -> list[Lane]:
        return [[rings(place, [mesh_ring(place.mesh.width, tuple(group))], pattern)]]


ALGORITHMS.add("ring", OneRing(), rank=1)
