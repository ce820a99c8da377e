"""Tests of synth.netlist."""

from pathlib import Path

from synth.netlist import Instance, read_netlist
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
