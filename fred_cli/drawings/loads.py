"""Load of every link as an SVG: where a phase of communication uses the wafer."""

import itertools
from collections.abc import Mapping
from html import escape

from perfmodel.topology.graph import Topology

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
    """Return an SVG of a wafer with its links coloured by their load.

    Parameters
    ----------
    topology : Topology
        The wafer, drawn by its own layout.
    utilisation : mapping
        Share of the time that a link is occupied, by link index; others are idle.
    title : str
        For people.
    """
    place = topology.layout()
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
