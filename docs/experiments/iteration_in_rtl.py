"""Draw an iteration in hardware beside its estimate, of two NPUs, from a timeline of both.

`fred estimate ... --rtl WAFER.yaml --timeline FILE.json` writes the timeline;
docs/explanation/wafer.md has the command and the drawing.
"""

import argparse
import json
from html import escape
from pathlib import Path
from typing import Any

COLOURS = {"compute": "#b8bec8", "mp": "#2f6fde", "dp": "#1b9e77", "pp": "#e08214"}
WIDTH, LEFT, ROW, GAP, TOP = 960, 150, 15, 14, 34
LANES = ({"compute", "mp", "dp"}, {"pp"})
"""Kinds that share a row: an NPU does one of the first at a time."""


def processes(trace: dict[str, Any], npus: list[int]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return name and events of the two processes of each of some NPUs."""
    events = trace["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    threads = {
        (e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"
    }
    found: list[tuple[str, list[dict[str, Any]]]] = []
    for npu in npus:
        for pid in sorted(pid for pid, name in names.items() if name.split(",")[0] == f"NPU {npu}"):
            own = [
                {**e, "kind": threads[pid, e["tid"]].split()[0]}
                for e in events
                if e["ph"] == "X" and e["pid"] == pid
            ]
            found.append((f"NPU {npu}, {names[pid].split(', ')[-1]}", own))
    return found


def draw(trace: dict[str, Any], npus: list[int]) -> str:
    """Return an SVG with a row of compute and collectives, and one of messages, of each process."""
    rows = processes(trace, npus)
    end_us = max(e["ts"] + e["dur"] for _, events in rows for e in events)
    scale = (WIDTH - LEFT - 10) / end_us
    height = TOP + len(rows) * (len(LANES) * ROW + GAP) + 22
    text = 'font-family="sans-serif" font-size="12"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {text}>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for place, (kind, colour) in enumerate(COLOURS.items()):
        x = LEFT + 110 * place
        out.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/>')
        out.append(
            f'<text x="{x + 17}" y="18">{kind if kind == "compute" else kind.upper()}</text>'
        )
    y = TOP
    for name, events in rows:
        out.append(f'<text x="4" y="{y + ROW}">{escape(name)}</text>')
        for lane in LANES:
            for e in events:
                if e["kind"] in lane:
                    x, wide = LEFT + e["ts"] * scale, max(0.4, e["dur"] * scale)
                    out.append(
                        f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{ROW - 2}" '
                        f'fill="{COLOURS[e["kind"]]}"/>'
                    )
            y += ROW
        y += GAP
    for tick in range(0, int(end_us) + 1, 20):
        x = LEFT + tick * scale
        out.append(f'<path d="M{x:.1f} {TOP - 4}V{y - 6}" stroke="#0002"/>')
        out.append(f'<text x="{x:.1f}" y="{y + 8}" text-anchor="middle">{tick} us</text>')
    return "\n".join([*out, "</svg>", ""])


def main() -> None:
    """Read the timeline and write the drawing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("timeline", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--npus", type=int, nargs="+", default=[0, 2])
    given = parser.parse_args()
    given.output.write_text(draw(json.loads(given.timeline.read_text()), given.npus))


if __name__ == "__main__":
    main()
