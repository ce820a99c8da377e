"""Tests of tests.synth.goals."""

import re
from pathlib import Path

from fred_hw.adder_delays import REFERENCE_NS
from tests.synth.goals import GOAL_CLOCKS_NS

PAGE = Path(__file__).parents[2] / "docs/explanation/synthesis.md"
NAMES = ["nangate45", "ASAP7", "sky130hd"]


def measured() -> list[dict[str, float]]:
    """Return the clocks of the same designs in each library [ns], by synthesis.md."""
    _, _, table = PAGE.read_text().partition(f"| design | {' | '.join(NAMES)} |")
    rows = [row.split("|")[2:-1] for row in table.split("\n\n")[0].splitlines()[2:]]
    numbers = [[re.findall(r"[\d.]+", cell) for cell in row] for row in rows]
    return [
        {name: float(cell[0]) for name, cell in zip(NAMES, row, strict=True) if cell}
        for row in numbers
    ]


def test_goals_are_the_clock_in_45_nm_by_what_the_same_designs_take() -> None:
    rows = measured()
    assert len(rows) >= 3
    assert list(GOAL_CLOCKS_NS) == NAMES
    for name, goal_ns in GOAL_CLOCKS_NS.items():
        likes = [REFERENCE_NS * row[name] / row[NAMES[0]] for row in rows if name in row]
        assert round(goal_ns, 2) == round(max(likes), 2)
