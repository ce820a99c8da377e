"""Chunks in dimensions over time as an SVG, with a panel per order of dimensions."""

from collections.abc import Sequence
from dataclasses import dataclass

from fred_hw.errors import InputError
from perfmodel.collectives.themis.network import QueueDimension
from perfmodel.collectives.themis.queues import Service

from .markup import escape

__all__ = ["MAX_DRAWN", "Panel", "draw_queues", "refuse_many"]

MAX_DRAWN = 256
"""Largest number of chunks in a drawing."""

_LEFT, _WIDTH, _TOP, _LANE, _GAP = 150.0, 900.0, 62.0, 26.0, 46.0
_KINDS = {"reduce_scatter": "reduce-scatter", "all_gather": "all-gather"}


@dataclass(frozen=True, slots=True)
class Panel:
    """Result for one order of the dimensions.

    Parameters
    ----------
    title : str
        For people.
    services : sequence of Service
        Every phase of every chunk.
    """

    title: str
    services: Sequence[Service]


def refuse_many(chunks: int) -> None:
    """Fail if there are too many chunks to draw; commands check this before simulating.

    Raises
    ------
    InputError
        There are too many chunks to show.
    """
    if chunks > MAX_DRAWN:
        raise InputError("--draw", "", f"must show at most {MAX_DRAWN} chunks, not {chunks}")


def draw_queues(dimensions: Sequence[QueueDimension], panels: Sequence[Panel], title: str) -> str:
    """Return an SVG with panels of one lane per dimension, all on one time axis.

    Parameters
    ----------
    dimensions : sequence of QueueDimension
        The innermost first.
    panels : sequence of Panel
        From top to bottom.
    title : str
        For people.
    """
    end_s = max(one.end_s for panel in panels for one in panel.services)
    chunks = 1 + max(one.chunk for panel in panels for one in panel.services)
    high = _LANE * len(dimensions) + _GAP
    height = _TOP + high * len(panels) + 6
    lines: list[str] = []
    for number, panel in enumerate(panels):
        lines += _panel(dimensions, panel, _TOP + high * number, end_s, chunks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 20:.0f} '
        f'{height:.0f}" role="img" aria-label="{escape(title)}" '
        'font-family="system-ui, sans-serif" font-size="12">\n'
        '<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="12" y="20" font-size="15" font-weight="600">{escape(title)}</text>'
        '<text x="12" y="38" fill="#5b6472">A colour is a chunk; dark: reduce-scatter, light: '
        "all-gather, white: idle</text>\n" + "\n".join(lines) + "\n</svg>\n"
    )


def _panel(
    dimensions: Sequence[QueueDimension], panel: Panel, top: float, end_s: float, chunks: int
) -> list[str]:
    lines = [f'<text x="12" y="{top + 8:.1f}" font-weight="600">{escape(panel.title)}</text>']
    for number, one in enumerate(dimensions):
        y = top + 16 + _LANE * number
        lines.append(
            f'<rect x="{_LEFT}" y="{y:.1f}" width="{_WIDTH}" height="{_LANE - 4}" fill="none" '
            f'stroke="#c3cad3"/><text x="{_LEFT - 8}" y="{y + 15:.1f}" text-anchor="end">'
            f"{number}: {escape(one.kind.replace('_', ' '))} of {one.npus}</text>"
        )
    scale = _WIDTH / end_s
    for service in panel.services:
        x, y = _LEFT + scale * service.begin_s, top + 17 + _LANE * service.phase.dimension
        light = 78 if service.phase.kind == "all_gather" else 48
        hue = 360 * service.chunk * 0.381966 % 360  # consecutive chunks get distant hues
        words = (
            f"chunk {service.chunk + 1} of {chunks}, "
            f"{_KINDS.get(service.phase.kind, 'all-reduce')}, "
            f"{service.begin_s * 1e6:.2f} to {service.end_s * 1e6:.2f} µs"
        )
        width = max(0.3, scale * (service.end_s - service.begin_s))
        lines.append(
            f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{_LANE - 6}" '
            f'fill="hsl({hue:.0f} 60% {light}%)"><title>{words}</title></rect>'
        )
    below = top + 16 + _LANE * len(dimensions) + 12
    for tick in range(5):
        at = end_s * tick / 4
        anchor = ("start", "middle", "middle", "middle", "end")[tick]
        lines.append(
            f'<text x="{_LEFT + scale * at:.1f}" y="{below:.1f}" text-anchor="{anchor}" '
            f'fill="#5b6472">{at * 1e6:,.1f} µs</text>'
        )
    return lines
