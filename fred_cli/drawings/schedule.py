"""A schedule as an SVG: NPUs from top to bottom, steps to the right, one arrow per transfer."""

from collections.abc import Mapping, Sequence

from fred_hw.errors import InputError
from perfmodel.collectives.schedule import Schedule

from .markup import escape

__all__ = ["MAX_DRAWN", "draw_schedule", "refuse_crowd"]

MAX_DRAWN = 64
"""Largest number of NPUs in a drawing."""

_REDUCE, _COPY = "#d55e00", "#0072b2"
_ROW, _LEFT, _TOP, _WIDTH = 24.0, 86.0, 58.0, 560.0


def refuse_crowd(npus: int) -> None:
    """Fail if there are too many NPUs to draw; commands check this before simulating.

    Raises
    ------
    InputError
        There are too many NPUs to show.
    """
    if npus > MAX_DRAWN:
        raise InputError("--draw", "", f"must show at most {MAX_DRAWN} NPUs, not {npus}")


def draw_schedule(schedule: Schedule, topology: str, nodes: Sequence[str] = ()) -> str:
    """Return an SVG of one chunk of a schedule.

    A transfer is in the step after the last one that it waits for; in time, steps overlap. I/O
    controllers that send or receive are below the NPUs.

    Parameters
    ----------
    schedule : Schedule
        Built without lockstep.
    topology : str
        Name for the title.
    nodes : sequence of str
        Names of all nodes of the topology; needed where transfers end at other nodes than NPUs.

    Raises
    ------
    InputError
        There are too many NPUs to show.
    """
    members = [npu for part in schedule.parts for npu in part.members]
    refuse_crowd(len(members))
    ends = {end for one in schedule.transfers for end in (*one.sources, *one.targets)}
    rows = [*sorted(members), *sorted(ends - {*members})]
    row = {node: _TOP + _ROW * (i + 0.5) for i, node in enumerate(rows)}
    label = {
        node: f"NPU {node}" if i < len(members) else nodes[node] for i, node in enumerate(rows)
    }
    steps: list[int] = []
    for transfer in schedule.transfers:
        steps.append(1 + max((steps[before] for before in transfer.after), default=-1))
    count = max(steps, default=0) + 1
    # A few steps fill the picture; with many, arrows stay just far enough apart.
    column = max(34.0, min(1100.0, max(450.0, 90.0 * count)) / count)
    width, height = max(_WIDTH, _LEFT + column * count + 24), _TOP + _ROW * len(row) + 16
    arrows = _arrows(schedule, steps, row, column)
    lines = [
        f'<line x1="{_LEFT - 6}" y1="{y:.1f}" x2="{width - 12:.1f}" y2="{y:.1f}" stroke="#e1e5ea"/>'
        f'<text x="{_LEFT - 14}" y="{y + 4:.1f}" text-anchor="end">{label[node]}</text>'
        for node, y in row.items()
    ]
    ticks = [
        f'<text x="{_LEFT + column * (step + 0.4):.1f}" y="{_TOP - 6}" text-anchor="middle" '
        f'fill="#5b6472">{step + 1}</text>'
        for step in range(count)
    ]
    title = f"{schedule.pattern} on {topology}, {schedule.algorithm}: one chunk, steps: {count}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="{escape(title)}" font-family="system-ui, sans-serif" '
        f'font-size="12">\n<defs>{_head("copy", _COPY)}{_head("reduce", _REDUCE)}</defs>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="12" y="20" font-size="15" font-weight="600">{escape(title)}</text>'
        f'<text x="12" y="38" fill="{_REDUCE}">added up</text>'
        f'<text x="76" y="38" fill="{_COPY}">copied</text>\n'
        + "\n".join([*lines, *ticks, *arrows])
        + "\n</svg>\n"
    )


def _arrows(
    schedule: Schedule, steps: Sequence[int], row: Mapping[int, float], column: float
) -> list[str]:
    """Return the arrows of all transfers, staggered within each step."""
    arrows: list[str] = []
    placed: dict[int, int] = {}
    total = {step: steps.count(step) for step in set(steps)}
    for step, transfer in zip(steps, schedule.transfers, strict=True):
        place = placed[step] = placed.get(step, -1) + 1
        start = _LEFT + column * (step + 0.08 + 0.32 * place / total[step])
        end = start + 0.5 * column
        joins = len(transfer.sources) > 1 or transfer.action == "reduce"
        colour = _REDUCE if joins else _COPY
        middle = (start + end) / 2
        across = [row[node] for node in transfer.sources]
        onward = [row[node] for node in transfer.targets]
        if len(across) == 1:
            arrows += [_arrow(start, across[0], end, y, colour) for y in onward]
            continue
        hub = (min(across) + max(across)) / 2
        arrows += [_line(start, y, middle, hub, colour) for y in across]
        arrows += [_arrow(middle, hub, end, y, _COPY) for y in onward]
    return arrows


def _head(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
    )


def _arrow(x0: float, y0: float, x1: float, y1: float, colour: str) -> str:
    head = "reduce" if colour == _REDUCE else "copy"
    return _line(x0, y0, x1, y1, colour, f' marker-end="url(#{head})"')


def _line(x0: float, y0: float, x1: float, y1: float, colour: str, end: str = "") -> str:
    return (
        f'<path d="M{x0:.1f},{y0:.1f} L{x1:.1f},{y1:.1f}" stroke="{colour}" '
        f'stroke-width="1.3" fill="none"{end}/>'
    )
