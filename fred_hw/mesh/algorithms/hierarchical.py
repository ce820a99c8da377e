"""Rings in rows, then in columns across them (FRED, arXiv 2406.19580, section 7.2)."""

from collections.abc import Sequence
from dataclasses import replace

from fred_hw.ace.operations import Descriptor, block_of
from fred_hw.compiler.mesh_rings import product
from fred_hw.mesh.algorithm import ALGORITHMS, Lane, MeshAlgorithm, Place, rings
from fred_hw.mesh.spec import MeshSpec

__all__ = ["RowsAndColumns"]


class RowsAndColumns(MeshAlgorithm):
    """Both orders at once: half of the data goes by rows first, half by columns.

    Rows go to the east and columns to the south in the half that begins with rows, and to the west
    and north in the other. Lines of two have one order for all data, as no flow may be on two
    circuits; the model has none such.
    """

    needs = "be all NPUs at which two or more rows and columns cross"
    model = "hierarchical_2d_halves"

    def fits(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        return _shortest(mesh, group) > 1

    def is_modelled(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        return _shortest(mesh, group) > 2

    def lanes(self, place: Place, group: Sequence[int], pattern: str) -> list[Lane]:
        lines = product(place.mesh.width, group)
        assert lines is not None  # fits has looked
        xs, ys = lines
        rows = [[x + place.mesh.width * y for x in xs] for y in ys]
        columns = [[x + place.mesh.width * y for y in ys] for x in xs]
        if _shortest(place.mesh, group) == 2:
            return [_two_levels(place, rows, columns, pattern)]
        back = [[line[::-1] for line in lines] for lines in (columns, rows)]
        return [
            _two_levels(place.part(0, 2), rows, columns, pattern),
            _two_levels(place.part(1, 2), back[0], back[1], pattern),
        ]


def _shortest(mesh: MeshSpec, group: Sequence[int]) -> int:
    """Return the length of the shortest line of a group, 0 if it is not of rows and columns."""
    return min(map(len, product(mesh.width, group) or ()), default=0)


def _two_levels(
    place: Place, first: list[list[int]], second: list[list[int]], pattern: str
) -> list[dict[int, Descriptor]]:
    """Return a collective on lines, then across them on what each place on a line has."""
    stages: list[dict[int, Descriptor]] = []
    across: dict[int, Descriptor] = {}
    for line in second:
        rank = next(one.index(line[0]) for one in first if line[0] in one)
        whole = place.destination
        block = block_of(whole, len(first[0]), rank, place.flit_bytes)
        own = replace(place, source=block, destination=block)
        across |= rings(own, [line], pattern)
    if pattern != "all_gather":
        stages.append(rings(place, first, "reduce_scatter"))
    stages.append(across)
    if pattern != "reduce_scatter":
        stages.append(rings(place, first, "all_gather"))
    return stages


ALGORITHMS.add("hierarchical", RowsAndColumns(), rank=3)
