"""Maps of the example studies: a cell for each row and column, with a number and a colour."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

__all__ = ["RESULTS", "STUDIES", "draw_study"]

RESULTS = Path(__file__).parents[1] / "figures"
"""Results of each study as ``fred study query --csv`` writes them, by the name of the study."""

Row = Mapping[str, str]

_CELL, _HIGH, _TOP, _WIDTH = 66, 24, 66, 760
_PALE, _STRONG = (246, 248, 250), (0, 114, 178)
_KIB = 1024


@dataclass(frozen=True)
class Cell:
    """One cell of a map: what it says, and how strong its colour is, from 0 to 1."""

    text: str
    share: float


@dataclass(frozen=True)
class Map:
    """A map.

    Parameters
    ----------
    title, across, up : str
        Titles of the map, of its columns and of its rows.
    columns : sequence of str
        Names of the columns.
    rows : mapping
        Cells of each row by its name.
    """

    title: str
    across: str
    up: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[Cell]]


def draw_study(name: str) -> str:
    """Return the SVG of a study from its results."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return _draw(STUDIES[name](list(csv.DictReader(file))))


def _in_network(rows: Sequence[Row]) -> Map:
    """Return the speed-up of in-network reduction by message and group."""
    sizes = sorted({int(row["bytes"]) for row in rows})[::2]
    found = {(row["group"], int(row["bytes"])): float(row["speedup"]) for row in rows}
    groups = sorted({row["group"] for row in rows}, key=int)
    most = max(found.values())
    cells = {
        f"{group} NPUs": [
            Cell(f"{found[group, size]:.2f}", (found[group, size] - 1) / (most - 1))
            for size in sizes
        ]
        for group in groups
    }
    return Map(
        "All-reduce: time without over time with in-network reduction, 20 NPUs",
        "message",
        "group",
        [_size(size) for size in sizes],
        cells,
    )


def _winners(rows: Sequence[Row]) -> Map:
    """Return the fastest topology, and its lead over the next one."""
    rates = sorted({float(row["peak_flops"]) for row in rows})
    cells: dict[str, list[Cell]] = {}
    for workload in dict.fromkeys(row["workload"] for row in rows):
        for rate in rates:
            times = sorted(
                (float(row["time_per_sample_s"]), row["topology"].removesuffix(":5x4"))
                for row in rows
                if row["workload"] == workload and float(row["peak_flops"]) == rate
            )
            lead = times[1][0] / times[0][0]
            words = "tie" if lead < 1.005 else f"{times[0][1]} {lead:.2f}"
            cells.setdefault(workload, []).append(Cell(words, min(1.0, lead - 1)))
    return Map(
        "Fastest of FRED-D, mesh and torus, and its lead over the next one, 20 NPUs",
        "compute of an NPU, with memory bandwidth in proportion",
        "workload",
        [f"{rate / rates[0]:.0f}x" for rate in rates],
        cells,
    )


def _l1_switches(rows: Sequence[Row]) -> Map:
    """Return the time per sample over the least one of the workload on as many NPUs."""
    widths = sorted({float(row["l1_l2_bytes_per_s"]) for row in rows})
    least: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row["workload"], row["npus"]
        least[key] = min(least.get(key, float("inf")), float(row["time_per_sample_s"]))
    overs = {id(row): _over(row, least) for row in rows}
    most = max(overs.values())
    cells: dict[str, list[Cell]] = {}
    order = sorted(rows, key=lambda row: (row["workload"], int(row["npus"]), int(row["l1"])))
    for row in order:
        over = overs[id(row)]
        name = f"{row['workload']}, {row['npus']} NPUs: {row['l1']} L1"
        cells.setdefault(name, [Cell("", 0.0)] * len(widths))
        place = widths.index(float(row["l1_l2_bytes_per_s"]))
        cells[name][place] = Cell(f"{over:.2f}", (over - 1) / (most - 1))
    return Map(
        "Time per sample over that of the best tree with as many NPUs",
        "bandwidth from an L1 switch to the L2 switch",
        "workload, NPUs and L1 switches",
        [f"{width / 1e12:g} TB/s" for width in widths],
        cells,
    )


def _over(row: Row, least: Mapping[tuple[str, str], float]) -> float:
    return float(row["time_per_sample_s"]) / least[row["workload"], row["npus"]]


STUDIES = {"in-network": _in_network, "winners": _winners, "l1-switches": _l1_switches}
"""The map of each study by its name."""


def _draw(drawn: Map) -> str:
    wide = max(_CELL, 9 * max(len(cell.text) for row in drawn.rows.values() for cell in row))
    left = 24 + 7 * max(map(len, drawn.rows))
    width = max(left + wide * len(drawn.columns) + 16, 8 * len(drawn.title) + 32)
    height = _TOP + _HIGH * len(drawn.rows) + 16
    parts = [
        (
            f'<svg viewBox="0 0 {width} {height}" width="{min(width, _WIDTH)}" '
            'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="12" '
            f'role="img" aria-label="{escape(drawn.title)}">'
        ),
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="16" y="20" font-weight="bold">{escape(drawn.title)}</text>',
        f'<text x="{left}" y="40" fill="#57606a">{escape(drawn.across)}</text>',
        f'<text x="16" y="{_TOP - 6}" fill="#57606a">{escape(drawn.up)}</text>',
    ]
    for place, name in enumerate(drawn.columns):
        x = left + wide * (place + 0.5)
        parts.append(f'<text x="{x:g}" y="{_TOP - 6}" text-anchor="middle">{escape(name)}</text>')
    for number, (name, row) in enumerate(drawn.rows.items()):
        y = _TOP + _HIGH * number
        parts.append(f'<text x="16" y="{y + 16}">{escape(name)}</text>')
        parts += [_cell(cell, left + wide * place, y, wide) for place, cell in enumerate(row)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _cell(cell: Cell, x: int, y: int, wide: int) -> str:
    mixed = ",".join(
        f"{round(low + (high - low) * cell.share)}"
        for low, high in zip(_PALE, _STRONG, strict=True)
    )
    ink = "#ffffff" if cell.share > 0.55 else "#1f2328"
    return (
        f'<rect x="{x}" y="{y}" width="{wide - 2}" height="{_HIGH - 2}" fill="rgb({mixed})"/>'
        f'<text x="{x + wide / 2 - 1:g}" y="{y + 15}" text-anchor="middle" fill="{ink}">'
        f"{escape(cell.text)}</text>"
    )


def _size(size: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < _KIB:
            return f"{size} {unit}"
        size //= _KIB
    return f"{size} GiB"
