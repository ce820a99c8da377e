"""Drawing of the idea of FRED: an all-reduce of four NPUs on a mesh and on a FRED switch."""

from collections.abc import Iterator

__all__ = ["draw_idea"]

_WIDTH, _HEIGHT = 760, 380
_RING = ((90, 110), (270, 110), (270, 260), (90, 260))
"""Centres of the NPUs of the mesh, in the order of the ring [px]."""
_LEAVES = ((450, 260), (535, 260), (620, 260), (705, 260))
"""Centres of the NPUs below the switch [px]."""
_SWITCH = (577, 110)
_STYLE = """
.idea .paper { fill: #fff }
.idea .box { fill: #dbe7f6; stroke: #27496d; stroke-width: 1.5 }
.idea .switch { fill: #f8e3c4; stroke: #8a5a12; stroke-width: 1.5 }
.idea .link { stroke: #8795a6; stroke-width: 2; fill: none }
.idea text { font: 13px sans-serif; fill: #1f2933; text-anchor: middle }
.idea .title { font-size: 16px; font-weight: bold }
.idea .big { font-weight: bold }
@media screen and (prefers-color-scheme: dark) {
.idea .paper { fill: #1b2129 }
.idea .box { fill: #24374d; stroke: #8fb8e8 }
.idea .switch { fill: #4a3717; stroke: #e0b266 }
.idea .link { stroke: #7d8b9c }
.idea text { fill: #e4e8ee }
}
""".strip()
"""Style rules; all names begin with ``idea``, since the report contains other drawings."""
_MOVING = """
.idea .dot { fill: #27496d; opacity: 0 }
.idea .sum { fill: #b3541e; opacity: 0 }
@media screen and (prefers-color-scheme: dark) {
.idea .dot { fill: #8fb8e8 }
.idea .sum { fill: #ff9a5c }
}
@media (prefers-reduced-motion: reduce) { .idea .dot, .idea .sum { display: none } }
@media print { .idea .dot, .idea .sum { display: none } }
""".strip()
"""Style rules of data that moves."""


def draw_idea(animated: bool = True) -> str:
    """Return the SVG drawing.

    If it is animated, data moves unless the reader has asked for reduced motion.
    """
    moves = [*_ring_moves(), *_switch_moves()] if animated else []
    frames = "\n".join(frame for frame, _ in moves)
    paper = '<rect class="paper" width="100%" height="100%"/>'
    body = [paper, *_mesh(), *_fred(), *(dot for _, dot in moves)]
    said = "An all-reduce of four NPUs takes six steps on a mesh and one pass on FRED"
    size = f"0 0 {_WIDTH} {_HEIGHT}"
    start = f'<svg class="idea" xmlns="http://www.w3.org/2000/svg" viewBox="{size}"'
    style = f"{_STYLE}\n{_MOVING}\n{frames}" if animated else _STYLE
    lines = [
        f'{start} role="img" aria-label="{said}">',
        f"<style>\n{style}\n</style>",
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _text(x: float, y: float, text: str, style: str = "") -> str:
    chosen = f' class="{style}"' if style else ""
    return f'<text x="{x}" y="{y}"{chosen}>{text}</text>'


def _npu(x: float, y: float, name: str) -> list[str]:
    box = f'<rect class="box" x="{x - 32}" y="{y - 18}" width="64" height="36" rx="6"/>'
    return [box, _text(x, y + 5, name)]


def _line(a: tuple[int, int], b: tuple[int, int]) -> str:
    return f'<line class="link" x1="{a[0]}" y1="{a[1]}" x2="{b[0]}" y2="{b[1]}"/>'


def _mesh() -> Iterator[str]:
    yield _text(180, 30, "Mesh: a ring of NPUs", "title")
    for place, here in enumerate(_RING):
        yield _line(here, _RING[(place + 1) % 4])
    for place, (x, y) in enumerate(_RING):
        yield from _npu(x, y, f"NPU {place}")
    yield _text(180, 180, "6 steps of S/4:")
    yield _text(180, 198, "3 add, 3 copy")
    yield _text(180, 320, "each NPU sends 1.5 S", "big")
    yield _text(180, 342, "and waits for a neighbour 6 times")


def _fred() -> Iterator[str]:
    x, y = _SWITCH
    yield _text(x, 30, "FRED: the switch adds", "title")
    for leaf in _LEAVES:
        yield _line(leaf, _SWITCH)
    yield f'<rect class="switch" x="{x - 112}" y="{y - 26}" width="224" height="52" rx="6"/>'
    yield _text(x, y - 3, "FRED switch")
    yield _text(x, y + 14, "adds on the way up, copies down")
    for place, (leaf_x, leaf_y) in enumerate(_LEAVES):
        yield from _npu(leaf_x, leaf_y, f"NPU {place}")
    yield _text(x, 320, "each NPU sends S", "big")
    yield _text(x, 342, "and waits once")


def _ring_moves() -> Iterator[tuple[str, str]]:
    """Yield the six ring steps, in each of which every NPU sends a quarter to the next one."""
    for place, (x, y) in enumerate(_RING):
        to_x, to_y = _RING[(place + 1) % 4]
        yield _move(f"idea-r{place}", (x, y), (to_x - x, to_y - y), "dot", 1.0, 0.0, "6")


def _switch_moves() -> Iterator[tuple[str, str]]:
    """Yield the movements of all data up to the switch, and of the sum back down."""
    for place, (x, y) in enumerate(_LEAVES):
        by = (_SWITCH[0] - x, _SWITCH[1] - y)
        yield _move(f"idea-u{place}", (x, y), by, "dot", 4.0, 0.0, "infinite")
        down = (-by[0], -by[1])
        yield _move(f"idea-d{place}", _SWITCH, down, "sum", 4.0, 0.25, "infinite")


def _move(
    name: str,
    start: tuple[int, int],
    by: tuple[int, int],
    style: str,
    seconds: float,
    begin: float,
    times: str,
) -> tuple[str, str]:
    """Return the key frames and the dot of one movement, which lasts a quarter of a period."""
    if times == "6":
        stops = f"0%,100% {{ opacity: 1; transform: none }} 99% {{ {_by(by)} }}"
        times = "infinite"
    else:
        first, last = 100 * begin, 100 * begin + 25
        stops = (
            f"0%,{first:g}% {{ opacity: 0; transform: none }} "
            f"{first + 0.5:g}% {{ opacity: 1; transform: none }} "
            f"{last:g}% {{ {_by(by)} }} {last + 0.5:g}%,100% {{ opacity: 0 }}"
        )
    motion = f"animation: {name} {seconds:g}s linear {times}"
    rule = f"@keyframes {name} {{ {stops} }} #{name} {{ {motion} }}"
    x, y = start
    return rule, f'<circle id="{name}" class="{style}" cx="{x}" cy="{y}" r="7"/>'


def _by(by: tuple[int, int]) -> str:
    return f"opacity: 1; transform: translate({by[0]}px, {by[1]}px)"
