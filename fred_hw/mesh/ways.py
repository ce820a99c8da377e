"""The way of a packet through a mesh, as its routers find it, and the flits on each link."""

from collections import Counter
from collections.abc import Mapping

from .spec import MeshSpec

__all__ = ["Link", "link_loads", "way"]

Link = tuple[int, int, str]
"""Column and row of a router, and a port: the link that leaves by it; "in" is from its NPU."""


def way(mesh: MeshSpec, source: int, destination: int) -> list[Link]:
    """Return the links from one NPU to another, those of both NPUs too; see ``Way``."""
    start, end = mesh.places[source], mesh.places[destination]
    x, y = start.x, start.y
    found: list[Link] = [(x, y, "in")]
    parity = (source ^ destination).bit_count() % 2 == 1
    while (x, y) != (end.x, end.y):
        across = "" if x == end.x else "east" if x < end.x else "west"
        along = "" if y == end.y else "south" if y < end.y else "north"
        out = across or along
        if mesh.routing != "xy" and across and along and _turns(x, start.x, across):
            goes_on = across == "west" or end.x % 2 == 1 or end.x != x + 1
            out = along if parity or not goes_on else across
        found.append((x, y, out))
        x, y = mesh.neighbour(x, y, out) or (x, y)
    return [*found, (x, y, "local")]


def _turns(x: int, start: int, across: str) -> bool:
    """Return whether odd-even lets a packet leave its row here."""
    return x % 2 == 1 or x == start if across == "east" else x % 2 == 0


def link_loads(mesh: MeshSpec, flits: Mapping[tuple[int, int], int]) -> Counter[Link]:
    """Return the flits on each link, from those from one NPU to another."""
    found: Counter[Link] = Counter()
    for (source, destination), count in flits.items():
        found.update(dict.fromkeys(way(mesh, source, destination), count))
    return found
