"""Two rings of opposite direction, each with half of the data."""

from collections.abc import Sequence

from fred_hw.compiler.mesh_rings import mesh_ring
from fred_hw.mesh.algorithm import ALGORITHMS, Lane, MeshAlgorithm, Place, rings
from fred_hw.mesh.spec import MeshSpec

__all__ = ["BidirectionalRing"]


class BidirectionalRing(MeshAlgorithm):
    """The first half runs in the order of ``mesh_ring``, the second in reverse."""

    needs = "have 3 NPUs or more"

    def fits(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        return len(group) > 2

    def lanes(self, place: Place, group: Sequence[int], pattern: str) -> list[Lane]:
        order = mesh_ring(place.mesh.width, tuple(group))
        directions = order, (order[0], *reversed(order[1:]))
        return [[rings(place.part(k, 2), [one], pattern)] for k, one in enumerate(directions)]


ALGORITHMS.add("bidirectional_ring", BidirectionalRing(), rank=2)
