"""Queues, paused links and rates over time, as an SVG of three panels."""

from collections.abc import Mapping, Sequence
from typing import Any

from .markup import escape

__all__ = ["Span", "draw_congestion", "spans_of"]

_LEFT, _WIDTH, _TOP, _HIGH, _GAP = 120.0, 760.0, 62.0, 120.0, 56.0

_FRAME = 'fill="none" stroke="#c9ced6"'

_PANELS = (
    ("longest_queue_bytes", "longest queue [kB]", 1e-3, "#0072b2"),
    ("paused_links", "paused links", 1.0, "#d55e00"),
    ("mean_rate_bytes_per_s", "mean rate of sending flows [Gb/s]", 8e-9, "#009e73"),
)


Span = tuple[float, Mapping[str, Any]]
"""Start of a simulation [s], and its results keyed by JSON name."""


def spans_of(details: Mapping[str, Any]) -> list[Span]:
    """Return the simulations of a collective, whose stages run in succession."""
    begin_s, found = 0.0, list[Span]()
    for one in details.get("stages", [details]):
        found.append((begin_s, one))
        begin_s += one["simulated_s"]
    return found


def draw_congestion(spans: Sequence[Span], title: str) -> str:
    """Return an SVG with panels for queues, pauses and rates on one time axis.

    Parameters
    ----------
    spans : sequence of Span
        Simulations, each drawn as a line of its own; those that overlap were simulated apart.
    title : str
        For people.
    """
    end_s = max((begin + one["simulated_s"] for begin, one in spans), default=0.0) or 1.0
    height = _TOP + (_HIGH + _GAP) * len(_PANELS)
    lines: list[str] = []
    for number, (key, name, scale, colour) in enumerate(_PANELS):
        top = _TOP + (_HIGH + _GAP) * number + 14
        most = scale * max((max(one["over_time"][key], default=0.0) for _, one in spans), default=0)
        lines += [
            f'<text x="{_LEFT}" y="{top - 8:.0f}" font-weight="600">{escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{top:.0f}" width="{_WIDTH}" height="{_HIGH}" {_FRAME}/>',
            f'<text x="{_LEFT - 8}" y="{top + 10:.0f}" text-anchor="end">{most:,.4g}</text>',
            f'<text x="{_LEFT - 8}" y="{top + _HIGH:.0f}" text-anchor="end">0</text>',
        ]
        for begin_s, one in spans:
            points = " ".join(
                f"{_LEFT + _WIDTH * (begin_s + time_s) / end_s:.1f},"
                f"{top + _HIGH * (1 - scale * value / (most or 1)):.1f}"
                for time_s, value in zip(
                    one["over_time"]["time_s"], one["over_time"][key], strict=True
                )
            )
            line = f'fill="none" stroke="{colour}" stroke-width="1.5"'
            lines.append(f'<polyline points="{points}" {line}/>')
    lines.append(
        f'<text x="{_LEFT + _WIDTH}" y="{height - 18:.0f}" text-anchor="end">'
        f"0 to {end_s * 1e6:,.4g} µs</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 20:.0f} '
        f'{height:.0f}" role="img" aria-label="{escape(title)}" '
        'font-family="system-ui, sans-serif" font-size="12">\n'
        '<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="12" y="24" font-size="15" font-weight="600">{escape(title)}</text>\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )
