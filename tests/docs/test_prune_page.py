"""Figures of docs/how-to/prune.md are those that its commands print."""

from pathlib import Path

import pytest

from .pages import ROOT, commands
from .printed import Printed, like
from .test_tables import rows

PAGE = "docs/how-to/prune.md"
TEXT = " ".join((ROOT / PAGE).read_text("utf-8").split())
GEN, _, SYNTH, *_ = (one.command.partition("fred ")[2] for one in commands(PAGE))
COUNTED = {
    "micro-switches": "microswitches",
    "reduction units": "reduction_units",
    "connections of micro-switches": "connections",
}
AREA = "area in nangate45, `--effort area` [µm²]"


def told() -> dict[str, list[str]]:
    """Return the full and the pruned figure of each row of the page."""
    table = rows(PAGE, "interconnect, and prints the area that pruning saves.")
    return {name: [full, pruned] for name, full, pruned in table}


@pytest.mark.slow
def test_units_that_are_left(printed: Printed, tmp_path: Path) -> None:
    found = printed(f"{GEN.partition(' -o ')[0]} -o {tmp_path}")["pruned"]
    for name, key in COUNTED.items():
        assert told()[name] == [str(found[of][key]) for of in ("full", "kept")]
    assert told().keys() == {*COUNTED, AREA}


@pytest.mark.long  # the full interconnect has 51 adders to map
def test_area_that_is_saved(printed: Printed) -> None:
    found = printed(SYNTH)
    areas = [found[name] for name in ("full_area_um2", "area_um2")]
    cells = told()[AREA]
    assert cells == [like(cell, area) for cell, area in zip(cells, areas, strict=True)]
    assert f"Pruning saves {100 * (1 - areas[1] / areas[0]):.1f} % of the area." in TEXT
