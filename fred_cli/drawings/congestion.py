"""Queues, paused links and rates over time, as an SVG of three panels."""

from collections.abc import Mapping, Sequence

from .markup import escape

__all__ = ["draw_congestion"]

_LEFT, _WIDTH, _TOP, _HIGH, _GAP = 120.0, 760.0, 62.0, 120.0, 56.0

_FRAME = 'fill="none" stroke="#c9ced6"'

_PANELS = (
    ("longest_queue_bytes", "longest queue [kB]", 1e-3, "#0072b2"),
    ("paused_links", "paused links", 1.0, "#d55e00"),
    ("mean_rate_bytes_per_s", "mean rate of sending flows [Gb/s]", 8e-9, "#009e73"),
)


def draw_congestion(over_time: Mapping[str, Sequence[float]], title: str) -> str:
    """Return an SVG with a panel for queues, pauses and rates, on one scale of time.

    Parameters
    ----------
    over_time : mapping
        Equally long lists: ``time_s`` and the figures of the panels.
    title : str
        For people.
    """
    times = over_time["time_s"]
    end_s = max(times, default=0.0) or 1.0
    height = _TOP + (_HIGH + _GAP) * len(_PANELS)
    lines: list[str] = []
    for number, (key, name, scale, colour) in enumerate(_PANELS):
        top = _TOP + (_HIGH + _GAP) * number + 14
        values = [scale * value for value in over_time[key]]
        most = max(values, default=0.0)
        points = " ".join(
            f"{_LEFT + _WIDTH * time / end_s:.1f},{top + _HIGH * (1 - value / (most or 1)):.1f}"
            for time, value in zip(times, values, strict=True)
        )
        lines += [
            f'<text x="{_LEFT}" y="{top - 8:.0f}" font-weight="600">{escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{top:.0f}" width="{_WIDTH}" height="{_HIGH}" {_FRAME}/>',
            f'<text x="{_LEFT - 8}" y="{top + 10:.0f}" text-anchor="end">{most:,.4g}</text>',
            f'<text x="{_LEFT - 8}" y="{top + _HIGH:.0f}" text-anchor="end">0</text>',
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
        ]
    lines.append(
        f'<text x="{_LEFT + _WIDTH}" y="{height - 18:.0f}" text-anchor="end">'
        f"0 to {end_s * 1e6:,.4g} us</text>"
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
