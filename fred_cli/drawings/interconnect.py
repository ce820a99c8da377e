"""The interconnect as an SVG, stage by stage, with routed flows coloured."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow

from .markup import escape

__all__ = ["COLOURS", "draw_interconnect"]

COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#7a3db8"),
)
"""Colours of flows, told apart by colour-blind readers too (after Okabe and Ito)."""

_IDLE = "#c9ced6"
_ROW = 22.0
_STAGE = 112.0
_BOX = (40.0, 26.0)
_FIRST = 70.0  # of the first stage, from the left

Point = tuple[float, float]
FlowIndex = int | None


@dataclass
class _Canvas:
    """Shapes in the order of drawing: wires first, then boxes."""

    wires: list[str] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)

    def wire(self, start: Point, end: Point, flow: FlowIndex) -> None:
        (x0, y0), (x1, y1) = start, end
        middle = (x0 + x1) / 2
        colour = _IDLE if flow is None else COLOURS[flow % len(COLOURS)]
        width = 1 if flow is None else 2.6
        text = (
            f'<path d="M{x0:.1f},{y0:.1f} C{middle:.1f},{y0:.1f} {middle:.1f},{y1:.1f} '
            f'{x1:.1f},{y1:.1f}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        )
        # Idle wires lie below those in use.
        self.wires.insert(0, text) if flow is None else self.wires.append(text)

    def box(self, centre: Point, label: str, flow: FlowIndex, mark: str = "") -> None:
        x, y = centre
        column = round((x - _FIRST) / _STAGE)
        busy = "" if flow is None else f' data-flow="{flow}"'
        width, height = _BOX
        colour = "#5b6472" if flow is None else COLOURS[flow % len(COLOURS)]
        self.boxes.append(
            f'<g data-column="{column}"{busy}>'
            f"<title>{escape(label)}{escape(': ' + mark if mark else '')}</title>"
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width}" '
            f'height="{height}" rx="5" fill="#fff" stroke="{colour}" stroke-width="1.6"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(label)}</text></g>'
        )

    def port(self, at: Point, label: str, flow: FlowIndex, anchor: str) -> None:
        x, y = at
        colour = "#5b6472" if flow is None else COLOURS[flow % len(COLOURS)]
        shift = -6 if anchor == "end" else 6
        self.boxes.append(
            f'<text x="{x + shift:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}" '
            f'fill="{colour}">{label}</text>'
        )


@dataclass(frozen=True)
class _Drawn:
    """Where a part's ports are, and which flow leaves at each output."""

    inputs: list[Point]
    outputs: list[Point]
    leaving: list[FlowIndex]


def draw_interconnect(configuration: Configuration, flows: Sequence[Flow]) -> str:
    """Return an SVG of the interconnect with the wires of each flow in its colour.

    Boxes carry their stage (``data-column``, from 0) and the number of their flow (``data-flow``).

    Parameters
    ----------
    configuration : Configuration
        Routes ``flows``.
    flows : Sequence of Flow
        The flows; their order gives the colours.
    """
    rows, stages = (
        _rows(configuration.ports, configuration.middle_switches),
        _stages(configuration.ports),
    )
    width, height = 60 + stages * _STAGE, rows * _ROW + 20
    entering: list[FlowIndex] = [None] * configuration.ports
    for index, flow in enumerate(flows):
        for port in flow.inputs:
            entering[port] = index
    canvas = _Canvas()
    drawn = _draw(canvas, configuration, (_FIRST, width - _FIRST, 10, height - 10), entering)
    for port, at in enumerate(drawn.inputs):
        outside = (36.0, at[1])
        canvas.wire(outside, at, entering[port])
        canvas.port(outside, f"in {port}", entering[port], "end")
    for port, at in enumerate(drawn.outputs):
        outside = (width - 36.0, at[1])
        canvas.wire(at, outside, drawn.leaving[port])
        canvas.port(outside, f"out {port}", drawn.leaving[port], "start")
    shapes = "\n".join([*canvas.wires, *canvas.boxes])
    return (
        f'<svg class="interconnect" viewBox="-10 0 {width + 20:.0f} {height:.0f}" role="img" '
        f'aria-label="Interconnect with {len(flows)} routed flows" '
        f'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="12">'
        f"\n{shapes}\n</svg>"
    )


def _rows(ports: int, middle: int) -> int:
    """Rows that the tallest stage needs, a row for each of its ports."""
    return 2 if ports == 2 else max(ports, middle * _rows((ports + 1) // 2, middle))


def _stages(ports: int) -> int:
    return 1 if ports == 2 else 2 + _stages((ports + 1) // 2)


def _draw(
    canvas: _Canvas,
    configuration: Configuration,
    area: tuple[float, float, float, float],
    entering: list[FlowIndex],
) -> _Drawn:
    left, right, top, bottom = area
    if configuration.crossing is not None:
        return _draw_crossing(canvas, configuration.crossing, area, entering)
    half, ports = (configuration.ports + 1) // 2, configuration.ports
    step = (bottom - top) / configuration.middle_switches
    inner_flows: list[list[FlowIndex]] = [[None] * half for _ in configuration.subswitches]
    destinations = [code for pair in configuration.inputs for code in pair]
    sources = [code for pair in configuration.outputs for code in pair]
    if configuration.demux is not None and configuration.mux is not None:
        destinations.append(configuration.demux)
        sources.append(configuration.mux)
    for port, code in enumerate(destinations):
        if code:
            inner_flows[code - 1][port // 2] = entering[port]
    inner = [
        _draw(
            canvas,
            subswitch,
            (left + _STAGE, right - _STAGE, top + c * step + 2, top + (c + 1) * step - 2),
            inner_flows[c],
        )
        for c, subswitch in enumerate(configuration.subswitches)
    ]
    leaving = [
        inner[code - 1].leaving[port // 2] if code else None for port, code in enumerate(sources)
    ]
    inputs, outputs = [], []
    for k in range(half):
        y = top + (k + 0.5) * (bottom - top) / half
        pair = [port for port in (2 * k, 2 * k + 1) if port < ports]
        into, out_of = ("R", "D") if len(pair) == 2 else ("demux", "mux")
        codes_in, codes_out = [destinations[p] for p in pair], [sources[p] for p in pair]
        canvas.box((left, y), into, _first(entering[p] for p in pair), _mark(codes_in, "reduces"))
        canvas.box(
            (right, y), out_of, _first(leaving[p] for p in pair), _mark(codes_out, "distributes")
        )
        for c, part in enumerate(inner):
            canvas.wire((left + _BOX[0] / 2, y), part.inputs[k], inner_flows[c][k])
            flow = _first(leaving[p] for p in pair if sources[p] == c + 1)
            canvas.wire(part.outputs[k], (right - _BOX[0] / 2, y), flow)
        offsets = (-8.0, 8.0) if len(pair) == 2 else (0.0,)
        inputs += [(left - _BOX[0] / 2, y + offset) for offset in offsets]
        outputs += [(right + _BOX[0] / 2, y + offset) for offset in offsets]
    return _Drawn(inputs, outputs, leaving)


def _draw_crossing(
    canvas: _Canvas,
    crossing: tuple[int, int],
    area: tuple[float, float, float, float],
    entering: list[FlowIndex],
) -> _Drawn:
    left, right, top, bottom = area
    x, y = (left + right) / 2, (top + bottom) / 2
    leaving: list[FlowIndex] = [
        _first(entering[port] for port in range(2) if code >> port & 1) for code in crossing
    ]
    marks = [
        word
        for word, on in (
            ("reduces", 3 in crossing),
            ("distributes", crossing[0] == crossing[1] != 0),
        )
        if on
    ]
    canvas.box((x, y), "RD", _first(leaving), " and ".join(marks))
    offsets = (-8.0, 8.0)
    inputs = [(x - _BOX[0] / 2, y + offset) for offset in offsets]
    outputs = [(x + _BOX[0] / 2, y + offset) for offset in offsets]
    return _Drawn(inputs, outputs, leaving)


def _mark(codes: Sequence[int], word: str) -> str:
    return word if len(codes) == 2 and codes[0] == codes[1] != 0 else ""


def _first(flows: object) -> FlowIndex:
    return next((flow for flow in flows if flow is not None), None)  # type: ignore[attr-defined]
