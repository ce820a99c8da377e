"""Latency against load of our routers beside a published one: a figure, and tables of a page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from perfmodel.published_routers import PATTERN_CURVES, TRANSPOSE_20, UNIFORM_CURVES, RouterCurve
from studies.saturation import (
    KNEES,
    Curve,
    MeasuredCurve,
    SaturationRecord,
    beyond_share,
    knee,
    load_saturation,
)

from .parts import with_part

__all__ = ["MESH_PAGE", "draw_saturation", "saturation_page"]

MESH_PAGE = Path(__file__).parents[1] / "explanation/mesh-measurements.md"
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
"""Columns of the table of latencies."""

DRAWN = (
    ("5 flits, 8 VC x 8", "#d55e00", ""),
    ("10 flits, 8 VC x 8", "#d55e00", "7 4"),
    ("20 flits, 8 VC x 8", "#d55e00", "2 3"),
    ("20 flits, 2 VC x 16", "#57606a", "2 3"),
)
"""Published curves of the figure, their colours and dashes."""

OURS = {5: "", 8: "", 10: "7 4"}
"""Dashes of our curves by the flits of a packet, as of published curves; those of 8 are thinner."""

BESIDE = {"xy": "xy", "odd_even": None, "odd_even_adaptive": "odd_even"}
"""Built-in routings in the table of patterns, each with the published one to compare with."""

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 56, 20, 40, 52
MOST = 5.0
"""Latency over that of the lowest load at which lines leave the figure."""


@dataclass(frozen=True)
class Line:
    """A line of the figure: its name in the legend, points, colour, dashes and width."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashes: str
    width: float = 2.0


def _over_lowest(curve: Curve) -> list[tuple[float, float]]:
    """Return a curve over its lowest load, cut where it leaves the figure."""
    lowest = curve.points[0][1]
    found = [(share, cycles / lowest) for share, cycles in curve.points]
    end = knee(found, MOST)
    if end is None:
        return found
    return [*(one for one in found if one[0] < end), (end, MOST)]


def _lines(record: SaturationRecord) -> list[Line]:
    """Return the lines, ours first."""
    ours = [
        Line(
            f"fred-hw, packets of {one.packet_flits}, buffers of {one.buffer_flits} flits",
            _over_lowest(one),
            "#0072b2",
            OURS[one.packet_flits],
            1.0 if one.packet_flits == 8 else 2.0,
        )
        for one in record.uniform
    ]
    published = [
        Line(f"BookSim 2, {_words(name)}", _over_lowest(UNIFORM_CURVES[name]), colour, dashes)
        for name, colour, dashes in DRAWN
    ]
    return [*ours, *published]


def _words(name: str) -> str:
    """Return the name of a published curve in words: ``packets of 5, 8 channels of 8``."""
    curve = UNIFORM_CURVES[name]
    return f"packets of {curve.packet_flits}, {curve.channels} channels of {curve.channel_flits}"


def _place(share: float, latency: float) -> tuple[float, float]:
    """Return where a point is drawn."""
    return (
        LEFT + share * (WIDTH - LEFT - RIGHT),
        TOP + (MOST - latency) / (MOST - 1) * (HEIGHT - TOP - BOTTOM),
    )


def draw_saturation() -> str:
    """Return the SVG of latency over that of the lowest load against share of capacity."""
    title = "Uniform traffic on 8 x 8, X-Y: latency against load"
    drawn = [
        (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" '
            f'font-size="12" role="img" aria-label="{escape(title)}">'
        ),
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-weight="bold">{escape(title)}</text>',
        *_axes(),
    ]
    lines = _lines(load_saturation())
    for line in lines:
        points = " ".join(
            f"{x:.1f},{y:.1f}" for share, over in line.points for x, y in [_place(share, over)]
        )
        drawn.append(f'<polyline points="{points}" {_stroke(line)} stroke-linejoin="round"/>')
    return "\n".join([*drawn, *_legend(lines), "</svg>"]) + "\n"


def _stroke(line: Line) -> str:
    dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
    return f'fill="none" stroke="{line.colour}" stroke-width="{line.width:g}"{dashes}'


def _axes() -> Iterable[str]:
    """Yield grid, numbers and titles of both axes."""
    (x0, y0), (x1, y1) = _place(0, 1), _place(1, MOST)
    for step in range(11):
        x, _ = _place(step / 10, 1)
        yield f'<path d="M{x:.1f},{y0:g} V{y1:g}" stroke="#eaeef2"/>'
        yield f'<text x="{x:.1f}" y="{y0 + 18:g}" text-anchor="middle">{step / 10:.1f}</text>'
    for step in range(1, int(MOST) + 1):
        _, y = _place(0, step)
        colour = "#8c959f" if step in KNEES else "#eaeef2"
        yield f'<path d="M{x0:g},{y:.1f} H{x1:g}" stroke="{colour}"/>'
        yield f'<text x="{x0 - 8:g}" y="{y + 4:.1f}" text-anchor="end">{step}</text>'
    middle = (x0 + x1) / 2
    yield (
        f'<text x="{middle:g}" y="{y0 + 40:g}" text-anchor="middle">offered, as a share of what '
        "links across the middle allow</text>"
    )
    up = (y0 + y1) / 2
    yield (
        f'<text transform="translate(18 {up:g}) rotate(-90)" text-anchor="middle">'
        "latency over that of the lowest load</text>"
    )


def _legend(lines: Sequence[Line]) -> Iterable[str]:
    """Yield the names of the lines, where curves are still low."""
    x, y = _place(0.03, MOST - 0.25)
    for line in lines:
        yield f'<path d="M{x:g},{y:g} h34" {_stroke(line)}/>'
        yield (
            f'<text x="{x + 42:g}" y="{y + 4:g}" stroke="white" stroke-width="4" '
            f'paint-order="stroke">{escape(line.name)}</text>'
        )
        y += 18


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(titles), _row(["---"] * len(titles)), *map(_row, rows)]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _latencies(name: str, curve: Curve) -> list[str]:
    """Return the latencies of a curve at ``SHARES``."""
    found = {round(share, 6): cycles for share, cycles in curve.points}
    return [name, *(f"{found[share]:.1f}" if share in found else "" for share in SHARES)]


def _named_ours(one: MeasuredCurve) -> str:
    return f"fred-hw, packets of {one.packet_flits}"


def latency_table(record: SaturationRecord) -> list[str]:
    """Return our latencies [cycles], and the published ones with packets of the same length."""
    ours = [_latencies(_named_ours(one), one) for one in record.uniform]
    same = [
        _latencies(f"BookSim 2, packets of {curve.packet_flits}", curve)
        for curve in (UNIFORM_CURVES[name] for name, *_ in DRAWN[:2])
    ]
    return _table(["cycles", *(f"{share:.2f}" for share in SHARES)], [*ours, *same])


def knee_table(record: SaturationRecord) -> list[str]:
    """Return where each router saturates."""
    flat = next(one for one in PATTERN_CURVES if (one.pattern, one.routing) == ("uniform", "xy"))
    rows = [
        [_named_ours(one), f"{one.buffer_flits} in 1 queue", *_saturation(one)]
        for one in record.uniform
    ]
    rows += [
        [
            f"BookSim 2, packets of {one.packet_flits}",
            f"{one.buffer_flits} in {one.channels} channels",
            *_saturation(one),
        ]
        for one in (*UNIFORM_CURVES.values(), flat)
    ]
    titles = ["router", "flits of a port", "lowest load", "twice", "three times", "accepted"]
    return _table(titles, rows)


def _saturation(curve: MeasuredCurve | RouterCurve) -> list[str]:
    return [
        f"{curve.points[0][1]:.1f}",
        *(_share(knee(curve.points, factor)) for factor in KNEES),
        _share(beyond_share(curve)),
    ]


def pattern_table(record: SaturationRecord) -> list[str]:
    """Return where patterns saturate with each routing, as shares of what X-Y allows.

    The published odd-even routing is adaptive, so it is compared with the built-in adaptive one.
    """
    published = {(one.pattern, one.routing): one for one in PATTERN_CURVES}
    rows: list[list[str]] = []
    for pattern in dict.fromkeys(one.pattern for one in PATTERN_CURVES):
        cells: list[str] = []
        allowed = ""
        for routing, beside in BESIDE.items():
            ours = record.curve(pattern, routing, 5)
            allowed = f"{ours.capacity:.3f}"
            cells += [_share(knee(ours.points, 3.0)), _share(beyond_share(ours))]
            if beside is None:
                continue
            theirs = _share(knee(published[pattern, beside].points, 3.0))
            if (pattern, beside) == (TRANSPOSE_20.pattern, TRANSPOSE_20.routing):
                theirs += f"; packets of 20: {_share(knee(TRANSPOSE_20.points, 3.0))}"
            cells.append(theirs)
        rows.append([pattern, allowed, *cells])
    titles = ["", "X-Y allows"]
    for routing, beside in BESIDE.items():
        titles += [f"`{routing}`, fred-hw", "accepted"]
        titles += [] if beside is None else [f"`{beside}`, BookSim 2"]
    return _table(titles, rows)


TABLES = {"latency": latency_table, "knee": knee_table, "pattern": pattern_table}


def saturation_page() -> str:
    """Return the page of mesh measurements with its tables of the record."""
    text, record = MESH_PAGE.read_text(encoding="utf-8"), load_saturation()
    for name, table in TABLES.items():
        text = with_part(MESH_PAGE, text, name, table(record))
    return text
