"""Tests of synth.netlist."""

from pathlib import Path

from synth.netlist import Instance, plain_names, read_netlist
from tests.synth.netlists import TWO_LANES
from tests.synth.tiny import tiny_libraries


def test_modules_stand_behind_those_in_them(tmp_path: Path) -> None:
    modules = read_netlist(TWO_LANES, tiny_libraries(tmp_path))
    assert list(modules) == ["lane", "top"]
    lane, top = modules.values()
    assert lane.cells == {"INV": 2, "NAND2": 1, "DFF": 2}
    assert lane.registers == {("held", "DFF"): 2}
    assert lane.ports == {"ck": ("input", 1), "i": ("input", 2), "o": ("output", 1)}
    assert top.cells == {"DFF": 1} and top.registers == {("o", "DFF"): 1}
    assert [(one.module, one.name) for one in top.instances] == [
        ("lane", "lane_0"),
        ("lane", "lane_1"),
        ("fred_memory_4x2_r1_w1_e1", "store"),
    ]
    assert top.instances[1] == Instance("lane", "lane_1", {"ck": "clk", "i": "i[3:2]", "o": "b"})


def test_clocks_are_followed_through_the_hierarchy(tmp_path: Path) -> None:
    modules = read_netlist(TWO_LANES, tiny_libraries(tmp_path))
    assert modules["lane"].clocks == {"ck"}
    assert modules["top"].clocks == {"clk"}


def test_a_clock_may_come_through_inverters(tmp_path: Path) -> None:
    inverters = "  INV a (\n    .A(clk),\n    .Y(b)\n  );\n  BUF c (\n    .A(b),\n    .Y(d)\n  );\n"
    text = TWO_LANES.replace("  lane lane_0", inverters + "  lane lane_0")
    modules = read_netlist(text.replace(".ck(clk)", ".ck(d)"), tiny_libraries(tmp_path))
    assert modules["top"].clocks == {"clk"}
    text = text.replace(".A(clk)", ".A(d)").replace("(clk)", "(d)")
    ring = read_netlist(text.replace("module top(d)", "module top(clk)"), tiny_libraries(tmp_path))
    assert ring["top"].clocks == set()


def test_ports_of_any_range_have_a_width(tmp_path: Path) -> None:
    text = TWO_LANES.replace("input [3:0] i;", "input [0:3] i;").replace("input we", "inout we")
    ports = read_netlist(text, tiny_libraries(tmp_path))["top"].ports
    assert (ports["i"], ports["we"]) == (("input", 4), ("inout", 1))


def test_names_that_need_an_escape_get_plain_ones() -> None:
    text = (
        "module \\cell (\\a[1] , \\a[2] , \\a.1] );\n  \\B-1  \\u.v  (\n    .Y(\\a[1] [3])\n  );\n"
    )
    plain, names = plain_names(text, {"B-1"})
    assert names == {
        "cell": "fred_a_cell",
        "a[1]": "fred_b_a_1_",
        "a[2]": "fred_b_a_2_",
        "a.1]": "fred_c_a_1_",
        "u.v": "fred_d_u_v",
    }
    assert plain == (
        "module fred_a_cell(fred_b_a_1_, fred_b_a_2_, fred_c_a_1_);\n"
        "  \\B-1  fred_d_u_v (\n    .Y(fred_b_a_1_[3])\n  );\n"
    )
