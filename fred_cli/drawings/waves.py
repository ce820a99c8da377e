"""Waveforms of an interconnect as an SVG: the content of each port in each cycle."""

from collections.abc import Sequence

from .markup import escape

__all__ = ["MOST_PORTS", "draw_waves"]

MOST_PORTS = 8
"""Largest number of ports per side in a drawing."""

_LEFT, _ROW, _GAP = 64, 26, 12
_FILL = {"in": "#0072b2", "out": "#00704f"}

Rows = Sequence[Sequence[str | None]]


def draw_waves(inputs: Rows, outputs: Rows, latency_cycles: int, title: str) -> str:
    """Return an SVG of the clock and of the first ports of each side.

    Parameters
    ----------
    inputs, outputs : sequence of sequence of str or None
        Text of each port in each cycle, None without a flit.
    latency_cycles : int
        Marked from the first flit that enters to the first that leaves.
    title : str
        Title for readers.
    """
    cycles = len(inputs[0])
    cell = max(30, 10 + 8 * max(len(text) for row in (*inputs, *outputs) for text in row if text))
    shapes: list[str] = []
    y = 20
    for cycle in range(cycles):
        x = _LEFT + cycle * cell
        shapes.append(f'<text x="{x + cell / 2}" y="14" class="tick">{cycle}</text>')
    shapes += [_name("clk", y + 17), _clock(y, cycles, cell)]
    tops: dict[str, int] = {}
    for side, rows in (("in", inputs), ("out", outputs)):
        y += _ROW + _GAP if side == "in" else _GAP
        tops[side] = y
        for port, row in enumerate(rows[:MOST_PORTS]):
            shapes += [_name(f"{side} {port}", y + 17), *_lane(row, y, cell, _FILL[side])]
            y += _ROW
    first = next(k for k, text in enumerate(inputs[0]) if text is not None)
    x0, x1 = (_LEFT + (first + n) * cell for n in (0, latency_cycles))
    for x in (x0, x1):
        shapes.append(f'<path class="mark" d="M{x},{tops["in"]} V{y + 10}"/>')
    shapes.append(f'<path class="mark" d="M{x0},{y + 8} H{x1}"/>')
    middle = (x0 + x1) / 2
    shapes.append(f'<text x="{middle}" y="{y + 24}" class="tick">{latency_cycles} cycles</text>')
    width, height = _LEFT + cycles * cell + 8, y + 32
    return (
        f'<svg class="waves" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg" '
        f'font-family="system-ui, sans-serif" font-size="13">\n' + "\n".join(shapes) + "\n</svg>"
    )


def _name(text: str, y: int) -> str:
    return f'<text x="{_LEFT - 8}" y="{y}" text-anchor="end">{escape(text)}</text>'


def _clock(y: int, cycles: int, cell: int) -> str:
    high, low = y + 4, y + _ROW - 6
    cycle = f"V{high} h{cell / 2} V{low} h{cell / 2}"
    return f'<path class="wire" d="M{_LEFT},{low} {" ".join([cycle] * cycles)}"/>'


def _lane(row: Sequence[str | None], y: int, cell: int, fill: str) -> list[str]:
    shapes = [f'<path class="wire" d="M{_LEFT},{y + _ROW / 2} h{cell * len(row)}"/>']
    for cycle, text in enumerate(row):
        if text is not None:
            x = _LEFT + cycle * cell
            shapes.append(
                f'<rect x="{x + 1}" y="{y + 3}" width="{cell - 2}" height="{_ROW - 6}" rx="4" '
                f'fill="{fill}"/><text x="{x + cell / 2}" y="{y + 18}" class="value">'
                f"{escape(text)}</text>"
            )
    return shapes
