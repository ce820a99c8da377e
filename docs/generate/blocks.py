"""Block diagrams: boxes on a grid and arrows between them, from YAML to SVG."""

from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

import yaml

__all__ = ["Blocks", "draw_blocks", "read_blocks"]

CELL_WIDTH, CELL_HEIGHT, BOX_WIDTH, BOX_HEIGHT, MARGIN = 204, 72, 136, 40, 24


@dataclass(frozen=True)
class Box:
    """A box: column and row from 0, halves allowed; the unit it stands for, if any, and a note."""

    at: tuple[float, float]
    text: str
    unit: str | None = None

    @property
    def middle(self) -> tuple[float, float]:
        column, row = self.at
        return (
            MARGIN + column * CELL_WIDTH + BOX_WIDTH / 2,
            2 * MARGIN + row * CELL_HEIGHT + BOX_HEIGHT / 2,
        )


@dataclass(frozen=True)
class Blocks:
    """A diagram: a title, the units whose inside it shows, boxes by name, arrows with labels."""

    title: str
    inside: tuple[str, ...]
    boxes: dict[str, Box]
    arrows: list[tuple[str, str, str]] = field(default_factory=list)

    def units(self) -> set[str]:
        """Return the classes that boxes stand for."""
        return {box.unit for box in self.boxes.values() if box.unit}


def read_blocks(path: Path) -> Blocks:
    """Return a diagram: ``boxes`` are ``name: [column, row, unit or none, text]``.

    ``arrows`` are ``[from, to, label]``; the label may be left out.
    """
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    boxes = {
        name: Box((column, row), text or unit, unit)
        for name, (column, row, unit, *rest) in given["boxes"].items()
        for text in [rest[0] if rest else None]
    }
    arrows = [(one, other, label[0] if label else "") for one, other, *label in given["arrows"]]
    return Blocks(given["title"], tuple(given["units"]), boxes, arrows)


def draw_blocks(blocks: Blocks) -> str:
    """Return the SVG of a diagram."""
    width = max(box.middle[0] for box in blocks.boxes.values()) + BOX_WIDTH / 2 + MARGIN
    height = max(box.middle[1] for box in blocks.boxes.values()) + BOX_HEIGHT / 2 + MARGIN
    lines = [
        (
            f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
            'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="12" '
            f'text-anchor="middle" role="img" aria-label="{escape(blocks.title)}">'
        ),
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto">'
            '<path d="M0,0 L8,4 L0,8 z" fill="#57606a"/></marker></defs>'
        ),
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{width / 2:g}" y="{MARGIN:g}" font-weight="bold">{escape(blocks.title)}</text>',
    ]
    for one, other, label in blocks.arrows:
        lines += _arrow(blocks.boxes[one], blocks.boxes[other], label)
    for box in blocks.boxes.values():
        lines += _box(box)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _box(box: Box) -> list[str]:
    """Return a box; units are filled and have their class on top, the rest is outlined."""
    x, y = box.middle
    fill = 'fill="#ddf4ff" stroke="#0969da"' if box.unit else 'fill="white" stroke="#8c959f"'
    texts = [box.unit, box.text] if box.unit and box.text != box.unit else [box.text]
    corner = f'x="{x - BOX_WIDTH / 2:g}" y="{y - BOX_HEIGHT / 2:g}"'
    found = [f'<rect {corner} width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4" {fill}/>']
    for number, text in enumerate(texts):
        weight = ' font-weight="bold"' if box.unit and number == 0 else ""
        down = y + 4 + (number - (len(texts) - 1) / 2) * 15
        found.append(f'<text x="{x:g}" y="{down:g}"{weight}>{escape(text)}</text>')
    return found


def _arrow(one: Box, other: Box, label: str) -> list[str]:
    """Return an arrow: sideways between columns, up or down within one, with its label."""
    (x0, y0), (x1, y1) = one.middle, other.middle
    if abs(x1 - x0) > BOX_WIDTH:
        side = 1 if x1 > x0 else -1
        x0, x1 = x0 + side * BOX_WIDTH / 2, x1 - side * BOX_WIDTH / 2
        middle = (x0 + x1) / 2
        path = f"M{x0:g},{y0:g} C{middle:g},{y0:g} {middle:g},{y1:g} {x1:g},{y1:g}"
    else:
        side = 1 if y1 > y0 else -1
        y0, y1 = y0 + side * BOX_HEIGHT / 2, y1 - side * BOX_HEIGHT / 2
        middle = (y0 + y1) / 2
        path = f"M{x0:g},{y0:g} C{x0:g},{middle:g} {x1:g},{middle:g} {x1:g},{y1:g}"
    found = [f'<path d="{path}" fill="none" stroke="#57606a" marker-end="url(#tip)"/>']
    if label:
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        found.append(
            f'<text x="{x:g}" y="{y - 4:g}" font-size="11" fill="#57606a" '
            f'stroke="white" stroke-width="3" paint-order="stroke">{escape(label)}</text>'
        )
    return found
