"""Figures of docs/how-to/fpga.md are those that its commands print."""

import pytest

from synth.fpga import FAMILIES

from .pages import ROOT, commands
from .printed import Printed, like
from .test_tables import rows

PAGE = "docs/how-to/fpga.md"
TEXT = " ".join((ROOT / PAGE).read_text("utf-8").split())
COMMANDS = [one.command.partition("fred ")[2] for one in commands(PAGE)]
COLUMNS = ("ecp5", "ice40", "xilinx")


@pytest.mark.parametrize(
    "family",
    [
        pytest.param("ice40", marks=pytest.mark.slow),
        *(pytest.param(one, marks=pytest.mark.long) for one in ("ecp5", "xilinx")),
    ],
)
def test_resources_of_an_interconnect(printed: Printed, family: str) -> None:
    found = printed(next(one for one in COMMANDS if f"--fpga {family}" in one))
    told = rows(
        PAGE,
        "The first three commands give, for the interconnect of four ports of one INT8 lane:",
    )
    assert len(told) == 4
    for name, *cells in told:
        cell = cells[COLUMNS.index(family)]
        assert cell == like(cell, found["resources"][name])
    if routing := found["routing"]:
        assert f"**{routing['fmax_mhz']:.1f} MHz**" in TEXT
        used, available = routing["used"]["TRELLIS_COMB"]
        assert f"It takes {used} of the {available:,} places for LUTs" in TEXT


def test_every_family_is_listed() -> None:
    assert set(COLUMNS) == FAMILIES.keys()
    assert all(f"| `{name}` | {one.title} |" in TEXT for name, one in FAMILIES.items())
