"""Tests of synth.netlist_ports."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.netlist_ports import netlist_of

UNIT = "module unit(clk, i, o);\n  input clk;\n  input [3:0] i;\n  output o;\nendmodule\n"
PAIR = "module pair(clk);\n  input clk;\n  unit a (.clk(clk));\n  unit b (.clk(clk));\nendmodule\n"
FILE = Path("net.v")


def test_the_top_module_of_a_pair_is_added_to_the_netlist_of_its_unit() -> None:
    assert netlist_of(UNIT, FILE, "unit", UNIT).strip() == UNIT.strip()
    assert netlist_of(UNIT, FILE, "pair", UNIT + PAIR).endswith(PAIR.strip())


def test_a_module_whose_name_begins_alike_is_another_one() -> None:
    longer = UNIT.replace("module unit(", "module unit$x(").replace("[3:0]", "[4:0]")
    assert netlist_of(longer + UNIT, FILE, "unit", UNIT)
    dotted = UNIT.replace("module unit(", "module \\un.t (")
    assert netlist_of(UNIT + dotted, FILE, "un.t", UNIT + dotted)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[3:0] i", "[4:0] i", "port i: must be an input of width 4, not an input of width 5"),
        ("output o", "input o", "port o: must be an output of width 1, not an input of width 1"),
        (", o)", ")", "port o: must be an output of width 1, not missing"),
        ("unit(", "other(", "must have module unit, not be the netlist of another design"),
    ],
)
def test_netlist_of_another_design_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        netlist_of(UNIT.replace(old, new), FILE, "unit", UNIT)
    assert message in str(refused.value)
