"""Load of every link as an SVG: where a phase of communication uses the wafer."""

import itertools
from collections.abc import Mapping
from html import escape

from perfmodel.topology.fred import FredTopology
from perfmodel.topology.graph import Topology
from perfmodel.topology.mesh import MeshTopology

__all__ = ["colour_key", "draw_loads"]

_STOPS = (
    (0.0, "#e3e7ec"),
    (0.25, "#fdd49e"),
    (0.5, "#fc8d59"),
    (0.75, "#d7301f"),
    (1.0, "#7f0000"),
)
Point = tuple[float, float]


def draw_loads(topology: Topology, utilisation: Mapping[int, float], title: str) -> str:
    """Return an SVG of a mesh or a FRED fabric with its links coloured by their load.

    Parameters
    ----------
    topology : Topology
        A mesh or FRED.
    utilisation : mapping
        Share of the time that a link is occupied, by link index; others are idle.
    title : str
        For people.
    """
    place = _mesh(topology) if isinstance(topology, MeshTopology) else _fred(topology)
    width = max(x for x, _ in place.values()) + 50
    height = max(y for _, y in place.values()) + 40
    lines: list[str] = []
    order = sorted(range(len(topology.links)), key=lambda i: utilisation.get(i, 0.0))
    for index in order:
        link = topology.links[index]
        share = utilisation.get(index, 0.0)
        (x0, y0), (x1, y1) = _shifted(place[link.source], place[link.target])
        lines.append(
            f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" '
            f'stroke="{_colour(share)}" stroke-width="4.5"><title>'
            f"{escape(topology.link_name(index))}: {share:.1%}</title></line>"
        )
    boxes = [_box(topology, node, at) for node, at in place.items()]
    return (
        f'<svg class="loads" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg" '
        f'font-family="system-ui, sans-serif" font-size="11">\n'
        + "\n".join([*lines, *boxes])
        + "\n</svg>"
    )


def colour_key() -> list[tuple[str, str]]:
    """Return the colours of some loads, with what they mean."""
    return [(f"{share:.0%}", _colour(share)) for share, _ in _STOPS]


def _mesh(mesh: MeshTopology) -> dict[int, Point]:
    """Return where NPUs are, and I/O controllers outside of them."""
    place: dict[int, Point] = {
        npu: (110.0 + 120 * (npu % mesh.columns), 90.0 + 90 * (npu // mesh.columns))
        for npu in range(mesh.npus)
    }
    for link in mesh.links:
        if link.source in place or mesh.nodes[link.source].kind != "io":
            continue
        npu = link.target
        x, y = place[npu]
        column, row = npu % mesh.columns, npu // mesh.columns
        across = mesh.sends_along_row(link.source)
        if across:
            right = column == mesh.columns - 1 and (x + 70, y) not in place.values()
            place[link.source] = (x + 70, y) if right else (x - 70, y)
        else:
            below = row == mesh.rows - 1 and (x, y + 60) not in place.values()
            place[link.source] = (x, y + 60) if below else (x, y - 60)
    return place


def _fred(topology: Topology) -> dict[int, Point]:
    """Return the L2 above, L1 switches under it, and NPUs and I/O controllers at the bottom."""
    assert isinstance(topology, FredTopology)
    place: dict[int, Point] = {}
    x = 40.0
    for switch in topology.l1_nodes:
        ends = [
            link.target
            for link in topology.links
            if link.source == switch and link.target != topology.l2_node
        ]
        for number, end in enumerate(ends):
            place[end] = (x + 34 * number, 300.0 + (34 if number % 2 else 0))
        place[switch] = (x + 17 * (len(ends) - 1), 160.0)
        x += 34 * len(ends) + 24
    middle = sum(place[switch][0] for switch in topology.l1_nodes) / len(topology.l1_nodes)
    place[topology.l2_node] = (middle, 40.0)
    return place


def _shifted(start: Point, end: Point) -> tuple[Point, Point]:
    """Return the ends of a line beside the one between two places, so that both ways show."""
    (x0, y0), (x1, y1) = start, end
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1.0
    dx, dy = -4 * (y1 - y0) / length, 4 * (x1 - x0) / length
    return (x0 + dx, y0 + dy), (x1 + dx, y1 + dy)


def _box(topology: Topology, node: int, at: Point) -> str:
    kind, (x, y) = topology.nodes[node].kind, at
    name = topology.nodes[node].name
    label = name.removeprefix("npu_") if kind == "npu" else "" if kind == "io" else name.upper()
    half, fill = {"npu": (14, "#fff"), "switch": (24, "#fff"), "io": (6, "#5b6472")}[kind]
    return (
        f'<g><title>{escape(name)}</title><rect x="{x - half:.1f}" y="{y - min(half, 14):.1f}" '
        f'width="{2 * half}" height="{2 * min(half, 14)}" rx="4" fill="{fill}" stroke="#5b6472"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(label)}</text></g>'
    )


def _colour(share: float) -> str:
    """Return a colour between those of the two nearest stops."""
    share = min(1.0, max(0.0, share))
    for (low, first), (high, second) in itertools.pairwise(_STOPS):
        if share <= high:
            weight = (share - low) / (high - low)
            mixed = (
                round(
                    (1 - weight) * int(first[i : i + 2], 16) + weight * int(second[i : i + 2], 16)
                )
                for i in (1, 3, 5)
            )
            return "#" + "".join(f"{value:02x}" for value in mixed)
    return _STOPS[-1][1]
