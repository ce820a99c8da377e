"""Load of every link as an SVG, which shows where a communication phase uses the wafer."""

import itertools
from collections.abc import Mapping

from perfmodel.topology.graph import Topology

from .markup import escape

__all__ = ["colour_key", "dark_colours", "draw_loads"]

_STOPS = (
    (0.0, "#e3e7ec"),
    (0.25, "#fdd49e"),
    (0.5, "#fc8d59"),
    (0.75, "#d7301f"),
    (1.0, "#7f0000"),
)
_DARK_STOPS = (
    (0.0, "#4d5764"),
    (0.25, "#85501f"),
    (0.5, "#c2591a"),
    (0.75, "#ff8340"),
    (1.0, "#ffd493"),
)
"""Colour stops on a dark page, where busy links must be bright."""
_LEVELS = 20
Point = tuple[float, float]
Stops = tuple[tuple[float, str], ...]


def draw_loads(topology: Topology, utilisation: Mapping[int, float], title: str) -> str:
    """Return an SVG of a wafer with links coloured by load.

    Links can be given the focus, the busiest is the last; the page walks them with the arrow keys.
    Its size is in ``--width`` and ``--height``: the page does not shrink it until labels are lost.

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
            f'{_stroke(share)} stroke-width="4.5" role="img" tabindex="-1" '
            f'aria-label="{escape(topology.link_name(index))}: {share:.1%}"/>'
        )
    boxes = [_box(topology, node, at) for node, at in place.items()]
    return (
        f'<svg class="loads" viewBox="0 0 {width:.0f} {height:.0f}" role="group" '
        f'style="--width:{width:.0f}px;--height:{height:.0f}px" '
        f'aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg" '
        f'font-family="system-ui, sans-serif" font-size="11">\n'
        + "\n".join([*lines, *boxes])
        + "\n</svg>"
    )


def colour_key() -> list[tuple[str, str, str]]:
    """Return some loads as text, with their colour and its class (:func:`dark_colours`)."""
    return [(f"{share:.0%}", _colour(share), _level(share)) for share, _ in _STOPS]


def dark_colours() -> str:
    """Return the style sheet for dark pages, with a colour for each class of load."""
    rules: list[str] = []
    for level in range(_LEVELS + 1):
        colour = _colour(level / _LEVELS, _DARK_STOPS)
        rules.append(f".u{level} {{ stroke: {colour}; background: {colour} !important; }}")
    return "\n".join(rules)


def _stroke(share: float) -> str:
    return f'class="{_level(share)}" stroke="{_colour(share)}"'


def _level(share: float) -> str:
    return f"u{round(_LEVELS * min(1.0, max(0.0, share)))}"


def _shifted(start: Point, end: Point) -> tuple[Point, Point]:
    """Return the ends of a line shifted sideways, so that both directions are visible."""
    (x0, y0), (x1, y1) = start, end
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1.0
    dx, dy = -4 * (y1 - y0) / length, 4 * (x1 - x0) / length
    return (x0 + dx, y0 + dy), (x1 + dx, y1 + dy)


def _box(topology: Topology, node: int, at: Point) -> str:
    kind, (x, y) = topology.nodes[node].kind, at
    name = topology.nodes[node].name
    label = name.removeprefix("npu_") if kind == "npu" else "" if kind == "io" else name.upper()
    label = label.replace("SWITCH", "S")  # short enough for the box
    half, fill = {"npu": (14, "#fff"), "switch": (24, "#fff"), "io": (6, "#5b6472")}[kind]
    return (
        f'<g><title>{escape(name)}</title><rect x="{x - half:.1f}" y="{y - min(half, 14):.1f}" '
        f'width="{2 * half}" height="{2 * min(half, 14)}" rx="4" fill="{fill}" stroke="#5b6472"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(label)}</text></g>'
    )


def _colour(share: float, stops: Stops = _STOPS) -> str:
    """Return a colour interpolated between the two nearest stops."""
    share = min(1.0, max(0.0, share))
    for (low, first), (high, second) in itertools.pairwise(stops):
        if share <= high:
            weight = (share - low) / (high - low)
            mixed = (
                round(
                    (1 - weight) * int(first[i : i + 2], 16) + weight * int(second[i : i + 2], 16)
                )
                for i in (1, 3, 5)
            )
            return "#" + "".join(f"{value:02x}" for value in mixed)
    return stops[-1][1]
