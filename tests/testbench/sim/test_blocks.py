"""A module with many instances is Verilated once, and the model does the same."""

import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from testbench.sim import verilate
from testbench.sim.cache import built
from testbench.sim.compiler import run_tool
from testbench.sim.tools import verilator_bin

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(verilator_bin() is None, reason="Verilator is not installed"),
]

VERILOG = """
module step(input clk, input [3:0] a, output reg [3:0] q);
  always @(posedge clk) q <= a + 4'd3;
endmodule
module two(input clk, input [3:0] a, output [3:0] q);
  wire [3:0] between;
  step first(.clk(clk), .a(a), .q(between));
  step second(.clk(clk), .a(between), .q(q));
endmodule
"""

MAIN = """
#include "Vtwo.h"
int main() {
  Vtwo two;
  two.a = 5;
  for (int half = 0; half < 4; ++half) { two.clk = half & 1; two.eval(); }
  return two.q;
}
"""


@pytest.mark.parametrize("blocks", [(), ("step",)], ids=["flat", "blocks"])
def test_a_model_of_blocks_does_the_same(
    blocks: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str], work: Path) -> object:
        commands.append(command)
        return run_tool(command, work)

    def made(name: str, content: Iterable[str], build: Callable[[Path], None]) -> Path:
        if not name.startswith("two"):  # the runtime
            return built(name, content, build)
        build(tmp_path)
        return tmp_path

    monkeypatch.setattr(verilate, "run_tool", run)
    monkeypatch.setattr(verilate, "built", made)
    program = verilate.verilate(VERILOG, "two", {"main.cpp": MAIN}, blocks=blocks)
    assert subprocess.run([program], check=False).returncode == 5 + 3 + 3
    translated = [one for one in commands if one[0].endswith("verilator") and "-f" in one]
    assert [one[one.index("--top-module") + 1] for one in translated] == [
        *blocks,
        *(["two"] if blocks else []),
    ]
    assert {one.name for one in tmp_path.iterdir()} == {"two", "two.v"}
