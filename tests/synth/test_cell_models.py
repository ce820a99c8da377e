"""Tests of synth.cell_models: a netlist with its models does what the design does, in Icarus."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from synth.cell_models import gates_of, mapped_gates, memories_of, simulatable
from synth.liberty import Libraries, read_libraries
from synth.mapping import MapOptions, map_design
from synth.synthesis import Source
from tests.synth.libraries import nangate45
from tests.synth.tiny import tiny_libraries

DESIGN = """\
module inner(input clk, input rst, input [3:0] i, output reg [3:0] o);
  always @(posedge clk) if (rst) o <= 0; else o <= o + (i ^ {4{i[0]}});
endmodule
module top(input clk, rst, we, input [1:0] a, input [3:0] d, output [3:0] sum, late, now);
  reg [3:0] kept [0:3], shown [0:3];
  reg [3:0] q;
  wire [1:0] next = a + 2'd1;
  inner inner(.clk(clk), .rst(rst), .i(d), .o(sum));
  always @(posedge clk) begin
    if (we) begin kept[a] <= d; shown[a] <= sum; end
    q <= kept[next];
  end
  assign late = q, now = shown[a];
endmodule
"""

BENCH = """\
module bench;
  reg clk = 0, rst = 1, we = 0; reg [1:0] a = 0; reg [3:0] d = 0;
  wire [3:0] sum, late, now;
  top top(clk, rst, we, a, d, sum, late, now);
  integer n;
  initial begin
    for (n = 0; n < 60; n = n + 1) begin
      #5 clk = 1; #5 clk = 0;
      $display("%b %b %b", sum, late, now);
      {rst, we, a, d} = {n == 40, $random} & 9'h0ff | (n == 40) << 8;
    end
    $finish;
  end
endmodule
"""
SOURCE = Source("top", DESIGN, "design", {})


def simulated(verilog: str, folder: Path) -> list[str]:
    """Return the outputs in each cycle; memories and registers begin undefined."""
    (folder / "all.v").write_text(verilog + BENCH)
    subprocess.run(["iverilog", "-g2012", "-o", "all.vvp", "all.v"], cwd=folder, check=True)
    ran = subprocess.run(["vvp", "all.vvp"], cwd=folder, check=True, capture_output=True, text=True)
    return ran.stdout.splitlines()


def cells(folder: Path) -> Libraries:
    return tiny_libraries(folder)


def installed(_folder: Path) -> Libraries:
    return read_libraries(nangate45())


@pytest.mark.parametrize("libraries", [cells, installed])
def test_a_mapped_design_with_its_models_does_what_the_design_does(
    libraries: Callable[[Path], Libraries], tmp_path: Path
) -> None:
    verilog = mapped_gates(SOURCE, libraries(tmp_path))
    assert " + " in DESIGN and " + " not in verilog
    found = simulated(verilog, tmp_path)
    assert found == simulated(DESIGN, tmp_path)
    assert "x" in found[1]
    assert "x" not in found[-1]


def test_yosys_own_gates_do_what_the_design_does(tmp_path: Path) -> None:
    verilog = gates_of(SOURCE)
    assert " + " not in verilog
    assert simulated(verilog, tmp_path) == simulated(DESIGN, tmp_path)


def test_models_of_memories_come_from_the_design_of_any_netlist(tmp_path: Path) -> None:
    libraries = tiny_libraries(tmp_path)
    mapped = map_design(DESIGN, "top", libraries, tmp_path, MapOptions("area", "design"))
    verilog = simulatable(mapped.verilog, memories_of(SOURCE), libraries)
    assert simulated(verilog, tmp_path) == simulated(DESIGN, tmp_path)


def test_a_flip_flop_is_one_process_on_a_clock_net_of_its_own(tmp_path: Path) -> None:
    """A simulator is otherwise slow to elaborate thousands of flip-flops."""
    models = simulatable(
        "module top(); DFF_X1 a(); SDFF_X2 b(); endmodule", [], installed(tmp_path)
    )
    for kind in ("DFF_X1", "SDFF_X2"):
        model = models.split(f"module {kind}(")[1].split("endmodule")[0]
        assert model.count("always @(posedge ") == 1
        assert "posedge CK" not in model and " = CK;" in model


def test_workers_that_map_side_by_side_do_not_share_files(tmp_path: Path) -> None:
    modules = [
        f"module m{k}(input clk, we, input [1:0] a, input [{k}:0] d, output [{k}:0] o);\n"
        f"  reg [{k}:0] kept [0:3];\n"
        "  always @(posedge clk) if (we) kept[a] <= d;\n  assign o = kept[a];\nendmodule\n"
        for k in range(2)
    ]
    top = (
        "module top(input clk, we, input [1:0] a, input [2:0] d, output [2:0] o);\n"
        "  m0 m0(clk, we, a, d[0], o[0]);\n  m1 m1(clk, we, a, d[2:1], o[2:1]);\nendmodule\n"
    )
    libraries = tiny_libraries(tmp_path)
    mapped = map_design(
        "".join([*modules, top]), "top", libraries, tmp_path, MapOptions("area", "design")
    )
    for k in range(2):
        [memory] = mapped.memories[f"m{k}"]
        assert memory.kind.startswith(f"fred_memory_4x{k + 1}_")
        assert f"module {memory.kind}(" in memory.verilog
        assert (tmp_path / f"m{k}-memory.v").read_text() == memory.verilog
