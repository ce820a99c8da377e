"""FRED and its baselines: chart of latency, area and clock, and the table of a page."""

from collections.abc import Iterator, Sequence
from math import log10
from pathlib import Path
from xml.sax.saxutils import escape

from fred_cli.columns.switches import COLUMNS
from fred_hw.files import load_model
from perfmodel.switch_timing.networks import SHIPPED_NETWORKS, NetworkFigures, NetworkRecord

from .parts import with_part

__all__ = ["HARDWARE_PAGE", "draw_networks", "networks_page"]

HARDWARE_PAGE = Path(__file__).parents[1] / "explanation/hardware.md"
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 780, 400, 70, 44, 56, 230
COLOURS = {
    "FRED_3": "#0072b2",
    "FRED_2": "#56b4e9",
    "crossbar": "#d55e00",
    "benes": "#009e73",
    "mesh": "#444444",
    "mesh+reduction": "#cc79a7",
    "switch": "#8c6d1f",
}
BELOW = ("benes", "mesh", "switch")
"""Networks whose labels are below their points, as other points are above."""


def draw_networks() -> str:
    """Return the SVG: area per port over latency, a line per network, points by ports."""
    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    title = f"{record.format.upper()}, {record.lanes} lane, {record.library}: area and latency"
    rows = record.networks
    spans = [_span([one.latency_ns for one in rows])]
    spans.append(_span([one.area_per_port_um2 for one in rows]))
    front = {one.name for n in {one.ports for one in rows} for one in record.front(n)}

    def place(one: NetworkFigures) -> tuple[float, float]:
        x, y = map(_share, (one.latency_ns, one.area_per_port_um2), spans)
        return LEFT + x * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM)

    def lines() -> Iterator[str]:
        for row, (name, colour) in enumerate(COLOURS.items()):
            own = [one for one in rows if one.network == name]
            path = " ".join("{:.1f},{:.1f}".format(*place(one)) for one in own)
            yield f'<polyline points="{path}" fill="none" stroke="{colour}"/>'
            for one in own:
                x, y = place(one)
                fill = colour if one.name in front else "white"
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{colour}"/>'
                x, y, side = (x + 7, y + 13, "start") if name in BELOW else (x - 7, y - 4, "end")
                yield (
                    f'<text x="{x:.1f}" y="{y:.1f}" font-size="10" text-anchor="{side}">'
                    f"{one.ports}</text>"
                )
            clocks = dict.fromkeys(f"{edge([x.clock_ns for x in own]):.3f}" for edge in (min, max))
            yield (
                f'<text x="{WIDTH - RIGHT + 16}" y="{TOP + 30 + 22 * row}" fill="{colour}">'
                f"{escape(name)}: {' to '.join(clocks)} ns</text>"
            )

    return "\n".join(
        [
            (
                f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
                'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" '
                f'font-size="12" role="img" aria-label="{escape(title)}">'
            ),
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{LEFT}" y="22" font-weight="bold">{escape(title)}</text>',
            f'<text x="{WIDTH - RIGHT + 16}" y="{TOP + 6}">network: shortest clock</text>',
            *_axes(*spans),
            *lines(),
            "</svg>\n",
        ]
    )


_Span = tuple[float, float]


def _span(values: Sequence[float]) -> _Span:
    """Return the logarithms at both ends of an axis."""
    return log10(min(values)) - 0.08, log10(max(values)) + 0.08


def _share(value: float, span: _Span) -> float:
    """Return the place of a value on an axis, from 0 to 1."""
    return (log10(value) - span[0]) / (span[1] - span[0])


def _marks(span: _Span) -> Iterator[tuple[int, float]]:
    """Yield the numbers 1, 2 and 5 times powers of ten on an axis, and their places."""
    numbers = (k * 10**power for power in range(8) for k in (1, 2, 5))
    yield from ((one, at) for one in numbers if 0 <= (at := _share(one, span)) <= 1)


def _axes(latencies: _Span, areas: _Span) -> Iterator[str]:
    """Yield grid, numbers and titles of both axes."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for ns, at in _marks(latencies):
        x = LEFT + at * (right - LEFT)
        yield f'<path d="M{x:.1f},{bottom} V{TOP}" stroke="#eaeef2"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{ns}</text>'
    for um2, at in _marks(areas):
        y = bottom - at * (bottom - TOP)
        yield f'<path d="M{LEFT},{y:.1f} H{right}" stroke="#eaeef2"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{um2:,}</text>'
    middle = (LEFT + right) / 2
    yield (
        f'<text x="{middle:g}" y="{bottom + 40}" text-anchor="middle">latency at the shortest '
        "clock [ns]</text>"
        f'<text x="{WIDTH - RIGHT + 16}" y="{bottom - 66}" font-size="11">numbers: ports</text>'
        f'<text x="{WIDTH - RIGHT + 16}" y="{bottom - 48}" font-size="11">filled: on the Pareto '
        "front of</text>"
        f'<text x="{WIDTH - RIGHT + 16}" y="{bottom - 34}" font-size="11">latency, area and clock '
        "of its ports</text>"
    )
    up = (TOP + bottom) / 2
    yield (
        f'<text transform="translate(16 {up:g}) rotate(-90)" text-anchor="middle">'
        "area per port [µm²]</text>"
    )


def networks_page() -> str:
    """Return the page of hardware with the table of the record."""
    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    cells = [[one.shown(row) for one in COLUMNS.titled] for row in record.networks]
    titles = [one.title.replace("um2", "µm²") for one in COLUMNS.titled]
    rows = [titles, ["---"] * len(titles), *cells]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return with_part(HARDWARE_PAGE, HARDWARE_PAGE.read_text("utf-8"), "networks", lines)
