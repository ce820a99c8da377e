"""Routes through a mesh in Python, and the flits on each link."""

from collections import Counter
from collections.abc import Mapping

from .routing import ROUTINGS, Fork
from .spec import MeshSpec

__all__ = ["Link", "link_loads", "links_between"]

Link = tuple[int, int, str]
"""Link by source router (column, row) and port; port "in" is the link from the NPU."""


def links_between(
    mesh: MeshSpec, source: int, destination: int, *, turned: bool = False
) -> list[Link]:
    """Return the links between two NPUs, including those of the NPUs; see ``Way``.

    Where sources choose ways, it is the one that addresses name, or the other if ``turned``.
    """
    start, end = mesh.places[source], mesh.places[destination]
    x, y = start.x, start.y
    found: list[Link] = [(x, y, "in")]
    rule = ROUTINGS[mesh.routing]
    while (x, y) != (end.x, end.y):
        across = "" if x == end.x else "east" if x < end.x else "west"
        along = "" if y == end.y else "south" if y < end.y else "north"
        out = across or along
        if across and along:
            fork = Fork((source, destination), x, y, start.x, end.x, across, along, turned)
            out = rule.port(fork)
        found.append((x, y, out))
        x, y = mesh.neighbour(x, y, out) or (x, y)
    return [*found, (x, y, "local")]


def link_loads(mesh: MeshSpec, flits: Mapping[tuple[int, int], int]) -> Counter[Link]:
    """Return the flits on each link, given the flits between pairs of NPUs."""
    found: Counter[Link] = Counter()
    for (source, destination), count in flits.items():
        found.update(dict.fromkeys(links_between(mesh, source, destination), count))
    return found
