"""Tests of synth.representatives and of the blocks that stand for what is left out."""

from pathlib import Path

from synth.blocks import Block, blocks_library, memory_block
from synth.netlist import read_netlist
from synth.representatives import representatives
from tests.synth.netlists import TWO_LANES, two_lanes
from tests.synth.tiny import tiny_libraries


def test_a_small_design_is_timed_as_it_is(tmp_path: Path) -> None:
    libraries = tiny_libraries(tmp_path)
    timed = representatives(read_netlist(TWO_LANES, libraries), "top", libraries, 2.0, most=11)
    assert (timed.cells, timed.kept, timed.blocks) == (11, None, [])
    assert sorted(timed.verilog.split("\n")) == sorted(TWO_LANES.replace("\n\n", "\n").split("\n"))


def test_surplus_instances_become_loads(tmp_path: Path) -> None:
    libraries = tiny_libraries(tmp_path)
    timed = representatives(read_netlist(TWO_LANES, libraries), "top", libraries, 2.0, most=10)
    assert (timed.cells, timed.kept) == (6, 1)
    assert "  lane lane_0 (" in timed.verilog and "  fred_load_lane lane_1 (" in timed.verilog
    (block,) = timed.blocks
    ports = {"ck": ("input", 1), "i": ("input", 2), "o": ("output", 1)}
    # Two clock pins of 1 fF; a data pin of a flip-flop or of a NAND at each bit.
    assert block == Block("fred_load_lane", ports, {"ck": 2.0, "i": 2.0})


def test_loads_of_ports_of_any_range_are_those_of_their_bits(tmp_path: Path) -> None:
    libraries = tiny_libraries(tmp_path)
    text = TWO_LANES.replace("[1:0] i;", "[7:8] i;").replace("(i[0])", "({ i[7:8], ck })")
    text = text.replace("    .A(i[1])", "    .A(i[8])")
    timed = representatives(read_netlist(text, libraries), "top", libraries, 2.0, most=10)
    (block,) = timed.blocks
    assert block.ports["i"] == ("input", 2) and block.loads_ff == {"ck": 4.0, "i": 4.0}


def test_a_memory_takes_and_gives_at_the_edge() -> None:
    (memory,) = two_lanes().memories["top"]
    assert memory.bits == 8
    block = memory_block(memory, 3.0)
    assert block.clock == "CLK" and block.loads_ff["WDATA"] == 3.0 and "CLK" not in block.loads_ff
    text = blocks_library([block])
    assert text.count("timing_type : rising_edge") == 1
    assert text.count("timing_type : setup_rising") == 4
