"""FRED and its baselines: chart of latency, area and clock, and the table of a page."""

from collections.abc import Iterator
from math import log10
from pathlib import Path
from xml.sax.saxutils import escape

from fred_cli.columns.switches import COLUMNS
from fred_hw.files import load_model
from perfmodel.switch_timing.networks import SHIPPED_NETWORKS, NetworkFigures, NetworkRecord

from .parts import with_part

__all__ = ["HARDWARE_PAGE", "draw_networks", "networks_page"]

HARDWARE_PAGE = Path(__file__).parents[1] / "explanation/hardware.md"
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 720, 400, 70, 44, 56, 90
COLOURS = {"FRED_3": "#0072b2", "FRED_2": "#56b4e9", "crossbar": "#d55e00", "benes": "#009e73"}


def draw_networks() -> str:
    """Return the SVG: area per port over latency, a line per network, points by ports."""
    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    title = f"{record.format.upper()}, {record.lanes} lane, {record.library}: area and latency"
    rows = record.networks
    most_ns = 1.1 * max(one.latency_ns for one in rows)
    logs = [log10(one.area_per_port_um2) for one in rows]
    low, high = min(logs) - 0.08, max(logs) + 0.08
    front = {one.name for n in {one.ports for one in rows} for one in record.front(n)}

    def place(one: NetworkFigures) -> tuple[float, float]:
        share = (log10(one.area_per_port_um2) - low) / (high - low)
        return (
            LEFT + one.latency_ns / most_ns * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM),
        )

    def lines() -> Iterator[str]:
        for name, colour in COLOURS.items():
            own = [one for one in rows if one.network == name]
            path = " ".join("{:.1f},{:.1f}".format(*place(one)) for one in own)
            yield f'<polyline points="{path}" fill="none" stroke="{colour}"/>'
            for one in own:
                x, y = place(one)
                fill = colour if one.name in front else "white"
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{colour}"/>'
                text = f"{one.ports}: {one.clock_ns:.3f} ns"
                yield f'<text x="{x + 8:.1f}" y="{y + 14:.1f}" font-size="10">{text}</text>'
            x, y = place(own[-1])
            yield f'<text x="{x + 8:.1f}" y="{y - 4:.1f}" fill="{colour}">{escape(name)}</text>'

    return "\n".join(
        [
            (
                f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
                'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" '
                f'font-size="12" role="img" aria-label="{escape(title)}">'
            ),
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{LEFT}" y="22" font-weight="bold">{escape(title)}</text>',
            *_axes(most_ns, low, high),
            *lines(),
            "</svg>\n",
        ]
    )


def _axes(most_ns: float, low: float, high: float) -> Iterator[str]:
    """Yield grid, numbers and titles of both axes."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    step = 2 if most_ns < 16 else 5
    for ns in range(0, int(most_ns) + 1, step):
        x = LEFT + ns / most_ns * (right - LEFT)
        yield f'<path d="M{x:.1f},{bottom} V{TOP}" stroke="#eaeef2"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{ns}</text>'
    for um2 in (k * 10**power for power in range(2, 7) for k in (1, 2, 5)):
        share = (log10(um2) - low) / (high - low)
        if 0 <= share <= 1:
            y = bottom - share * (bottom - TOP)
            yield f'<path d="M{LEFT},{y:.1f} H{right}" stroke="#eaeef2"/>'
            yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{um2:,}</text>'
    middle = (LEFT + right) / 2
    yield (
        f'<text x="{middle:g}" y="{bottom + 40}" text-anchor="middle">latency at the shortest '
        "clock [ns]; filled: on the Pareto front of latency, area and clock of its ports</text>"
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
