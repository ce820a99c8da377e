"""Rings in rows, then in columns across them (FRED, arXiv 2406.19580, section 7.2)."""

from collections.abc import Sequence
from dataclasses import replace

from fred_hw.ace.operations import Descriptor, block_of
from fred_hw.compiler.mesh_rings import product
from fred_hw.compiler.ring_messages import message_flits
from fred_hw.mesh.algorithm import ALGORITHMS, Lane, MeshAlgorithm, Place, rings
from fred_hw.mesh.spec import MeshSpec

__all__ = ["RowsAndColumns"]

_TRIPS = 4
"""Round trips of a link that the messages in flight must cover to fill it.

A message crosses three links, two routers and an endpoint to a neighbour, more from the end of a
line to its start, and is forwarded when it has arrived completely.
"""


class RowsAndColumns(MeshAlgorithm):
    """Rows and columns: longer lines first on one virtual channel, or two halves on two.

    One virtual channel whose messages fill the link is faster: two reduce-scatters at the same time
    read no more of memory than one, and disturb each other. Halves are for vectors that wait for
    messages. The half that begins with rows sends east and south, the other west and north. Lines
    of two members have one order, because two virtual channels must not have the same flow. The
    model has only halves; with two read ports it is 4.6 % below RTL at 8,192 flits.
    """

    needs = "be all NPUs at which two or more rows and columns cross"

    def fits(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        return _lengths(mesh, group)[0] > 1

    def is_modelled(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        if mesh.endpoint.read_ports == 2:
            return False
        shortest, longest = _lengths(mesh, group)
        # Works for any size: messages are as large as a slot allows, or smaller.
        return shortest > 2 and not _fills(mesh, mesh.endpoint.chunk_flits // longest)

    def lanes(self, place: Place, group: Sequence[int], pattern: str) -> list[Lane]:
        lines = product(place.mesh.width, group)
        assert lines is not None  # checked in fits
        xs, ys = lines
        rows = [[x + place.mesh.width * y for x in xs] for y in ys]
        columns = [[x + place.mesh.width * y for y in ys] for x in xs]
        shortest, longest = _lengths(place.mesh, group)
        if shortest == 2 or _one_order(place, longest):
            first, second = (rows, columns) if len(xs) >= len(ys) else (columns, rows)
            return [_two_levels(place, first, second, pattern)]
        back = [[line[::-1] for line in lines] for lines in (columns, rows)]
        return [
            _two_levels(place.part(0, 2), rows, columns, pattern),
            _two_levels(place.part(1, 2), back[0], back[1], pattern),
        ]


def _one_order(place: Place, longest: int) -> bool:
    """Return whether messages of all data on the longest lines fill a link."""
    flits = place.source.size // place.flit_bytes
    if not flits:
        return False
    mesh = place.mesh
    return _fills(mesh, message_flits(-(-flits // longest), longest, mesh.endpoint))


def _fills(mesh: MeshSpec, message: int) -> bool:
    """Return whether the messages of a virtual channel, one flit or more each, fill a link."""
    return mesh.endpoint.fsms * message >= _TRIPS * mesh.link.protocol.round_trip_cycles


def _lengths(mesh: MeshSpec, group: Sequence[int]) -> tuple[int, int]:
    """Return the number of NPUs in the shorter and longer lines; 0 if there are no lines."""
    found = sorted(map(len, product(mesh.width, group) or ((), ())))
    return found[0], found[1]


def _two_levels(
    place: Place, first: list[list[int]], second: list[list[int]], pattern: str
) -> list[dict[int, Descriptor]]:
    """Return a collective on lines, followed by one across them at each position."""
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


ALGORITHMS.add("hierarchical_2d_halves", RowsAndColumns(), rank=3)
