"""Figures of docs/how-to/fpga.md are those that its commands print."""

from typing import Any

import pytest

from synth.fpga import FAMILIES, PLACES

from .pages import ROOT, commands
from .printed import Printed, like
from .test_tables import rows

PAGE = "docs/how-to/fpga.md"
TEXT = " ".join((ROOT / PAGE).read_text("utf-8").split())
COMMANDS = [one.command.partition("fred ")[2] for one in commands(PAGE)]
COLUMNS = ("ecp5", "ice40", "xilinx")
BITS = {f"bits in {place}": place for place in PLACES}
INTERCONNECT = "The first three commands give, for the interconnect of four ports of one INT8 lane:"
SWITCH = "The next three commands give, for the switch of `tiny-2`, two ports of one INT8 lane:"
MEMORIES = "In ECP5, these are the memories of this switch:"
DESIGNS = {
    "switch of 4 ports": "lanes=1 --level switch --fpga ecp5",
    "router of a 4 x 4 torus": "--level router",
    "collective endpoint": "--level endpoint",
}
"""Rows of the table of whole designs, and what their commands contain."""


def check_column(table: list[list[str]], family: str, found: dict[str, Any]) -> None:
    """Compare a family's column of a table of resources with a report."""
    for name, *cells in table:
        cell = cells[COLUMNS.index(family)]
        if name in BITS:
            assert cell == like(cell, found["memory_bits"][BITS[name]])
        else:
            assert cell == like(cell, found["resources"].get(name, 0))


@pytest.mark.parametrize(
    "family",
    [
        pytest.param("ice40", marks=pytest.mark.slow),
        *(pytest.param(one, marks=pytest.mark.long) for one in ("ecp5", "xilinx")),
    ],
)
def test_resources_of_an_interconnect(printed: Printed, family: str) -> None:
    found = printed(next(one for one in COMMANDS if f"--fpga {family}" in one))
    table = rows(PAGE, INTERCONNECT)
    assert len(table) == 4
    check_column(table, family, found)
    if routing := found["routing"]:
        assert f"**{routing['fmax_mhz']:.1f} MHz**" in TEXT
        used, available = routing["used"]["TRELLIS_COMB"]
        assert f"It takes {used} of the {available:,} places for LUTs" in TEXT


@pytest.mark.long  # minutes for each
@pytest.mark.parametrize("family", COLUMNS)
def test_resources_of_a_whole_switch(printed: Printed, family: str) -> None:
    shown = next(one for one in COMMANDS if f"tiny-2 --level switch --fpga {family}" in one)
    found = printed(shown)
    table = rows(PAGE, SWITCH)
    assert {name for name, *_ in table} >= BITS.keys()
    check_column(table, family, found)
    assert all(one["clocked"] for one in found["memories"])
    assert (found["resources"]["block memories"] > 0) == (family != "xilinx")
    if family == "ecp5":
        assert f"this switch reaches **{found['routing']['fmax_mhz']:.1f} MHz**" in TEXT
        used, available = found["routing"]["used"]["TRELLIS_COMB"]
        assert f"takes {used:,} of the {available:,} places for LUTs of an LFE5U-85F" in TEXT
        keys = ("count", "words", "width", "place")
        assert rows(PAGE, MEMORIES) == [
            [f"`{one['name']}`", *(str(one[key]) for key in keys), str(sum(one["cells"].values()))]
            for one in found["memories"]
        ]


@pytest.mark.long  # minutes for each
@pytest.mark.parametrize("design", DESIGNS)
def test_resources_of_whole_designs(printed: Printed, design: str) -> None:
    [shown] = (
        one
        for one in COMMANDS
        if DESIGNS[design] in one and not one.startswith(("synth tiny-2", "synth SPEC"))
    )
    found = printed(shown)
    values = found["resources"] | {name: found["memory_bits"][key] for name, key in BITS.items()}
    told = rows(PAGE, "The other commands with `--level` give, in ECP5:")
    heads = ("LUTs", "flip-flops", "block memories", "LUT memories", *list(BITS)[:2])
    [cells] = ([*cells] for name, *cells in told if name == design)
    assert cells == [f"{values[head]:,}" for head in heads]


@pytest.mark.long  # minutes
def test_a_switch_of_four_ports_is_placed_and_routed(printed: Printed) -> None:
    found = printed(next(one for one in COMMANDS if "buffer_packets=2" in one))
    routing, resources = found["routing"], found["resources"]
    assert f"reaches {routing['fmax_mhz']:.1f} MHz in an LFE5U-85F.**" in TEXT
    told = "The command with `protocol.buffer_packets=2` gives:"
    assert rows(PAGE, told) == [
        [kind, f"{used:,}", f"{most:,}"] for kind, (used, most) in routing["used"].items()
    ]
    used, available = routing["used"]["TRELLIS_COMB"]
    assert f"(`TRELLIS_COMB`), {used / available:.0%}".replace("%", " %") in TEXT
    assert f"The netlist has {resources['LUTs']:,} LUTs." in TEXT
    assert resources["block memories"] == 0


def test_every_family_is_listed() -> None:
    assert set(COLUMNS) == FAMILIES.keys()
    assert all(f"| `{name}` | {one.title} |" in TEXT for name, one in FAMILIES.items())
