"""Tests of synth.definitions: modules bit by bit, and buffers in them."""

from pathlib import Path

from synth.definitions import Definition, Sink
from synth.netlist import read_netlist
from tests.synth.netlists import TWO_LANES
from tests.synth.tiny import tiny_libraries

BITS = r"""module top(clk, i, \case , o);
  input clk;
  wire clk;
  input [1:4] i;
  wire [1:4] i;
  input \case ;
  wire \case ;
  output [2:0] o;
  wire [2:0] o;
  wire [1:0] \odd.name ;
  wire fred_sized_0;
  INV first (
    .A(i[3]),
    .Y(\odd.name [0])
  );
  lane second (
    .ck(clk),
    .\case ({ i[1:2], \case , 2'b01 }),
    .o(\odd.name )
  );
  assign o[2:1] = \odd.name ;
  assign o[0] = 1'b0;
endmodule
"""


def definition(tmp_path: Path, text: str = BITS, name: str = "top") -> Definition:
    return Definition(read_netlist(text, tiny_libraries(tmp_path))[name])


def test_connections_are_bits(tmp_path: Path) -> None:
    found = definition(tmp_path)
    first, second = found.items
    assert first.pins == {"A": ["i[3]"], "Y": [r"\odd.name [0]"]}
    assert second.pins[r"\case"] == ["i[1]", "i[2]", r"\case", "1'b0", "1'b1"]
    assert found.ports["i"] == ("input", ["i[1]", "i[2]", "i[3]", "i[4]"])
    assert found.ports["case"] == ("input", [r"\case"])


def test_bits_that_are_assigned_are_the_same_net(tmp_path: Path) -> None:
    found = definition(tmp_path)
    assert found.net("o[2]") == found.net(r"\odd.name [1]")
    assert found.net("o[1]") == found.net(r"\odd.name [0]") != found.net("o[2]")
    assert found.net("o[0]") == "1'b0"


def test_what_is_not_changed_is_written_as_it_was(tmp_path: Path) -> None:
    for text, name in ((BITS, "top"), (TWO_LANES, "lane"), (TWO_LANES, "top")):
        found = definition(tmp_path, text, name)
        assert found.text() == found.module.text


def test_a_buffer_stands_before_its_sinks_alone_and_can_be_taken_back(tmp_path: Path) -> None:
    found = definition(tmp_path)
    found.insert("i[2]", [Sink(1, r"\case", 1), Sink(1, r"\case", 2)], "BUF", ("A", "Y"))
    found.insert(r"\odd.name [0]", [Sink(0, "A", 0)], "BUF", ("A", "Y"))
    text = found.text()
    assert "    .\\case ({ i[1], fred_sized_0x_net, fred_sized_0x_net, 1'b0, 1'b1 })" in text
    assert "  wire fred_sized_0x_net;\n" in text and "    .A(fred_sized_1_net)," in text
    assert "  BUF fred_sized_0x (\n    .A(i[2]),\n    .Y(fred_sized_0x_net)\n  );\n" in text
    assert "  BUF fred_sized_1 (\n    .A(\\odd.name [0]),\n" in text
    again = read_netlist(text, tiny_libraries(tmp_path))["top"]
    assert again.cells == {"INV": 1, "BUF": 2} and len(again.instances) == 1
    found.take_back()
    found.take_back()
    assert found.text() == BITS
