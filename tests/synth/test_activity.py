"""Tests of synth.activity: the netlist does what was recorded, and toggles are counted."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.activity import Trace, replay
from synth.cell_models import simulatable
from synth.gate_level import CONSTANTS, gate_level
from synth.mapping import MapOptions, Mapped, map_design
from synth.sizable import SizableDesign
from tests.synth.powered import POWERED, chain, powered_libraries
from tests.synth.tiny import tiny_libraries

INPUT = [0, 0, 1, 1, 1, 0, 1, 0]
OUTPUT = [1, 0, 0, 1, 1, 1, 0, 1]

MEMORY = """\
module store(clk, we, re, address, i, o, count);
  input clk; input we; input re; input [1:0] address; input [2:0] i;
  output reg [2:0] o; output reg [1:0] count = 0;
  reg [2:0] words [0:3];
  always @(posedge clk) begin
    if (we) words[address] <= i + count;
    if (re) o <= words[address];
    count <= we ? 0 : count + 1;
  end
endmodule
"""


def test_toggles_and_high_cycles_are_those_of_the_window(tmp_path: Path) -> None:
    gates = gate_level(SizableDesign(chain(), powered_libraries(tmp_path)), {})
    found = replay(gates, Trace("test", {"a": INPUT, "o": OUTPUT}, 2, 8))
    (a,), (o,) = gates.inputs["a"], gates.outputs["o"]
    assert found.cycles == 6
    assert found.toggles[[a, o]] * 6 == pytest.approx([4, 3])
    assert found.high[[a, o]] * 6 == pytest.approx([4, 4])


def test_output_that_differs_is_named_with_its_cycle(tmp_path: Path) -> None:
    gates = gate_level(SizableDesign(chain(), powered_libraries(tmp_path)), {})
    wrong = [*OUTPUT[:5], 0, *OUTPUT[6:]]
    with pytest.raises(InputError) as refused:
        replay(gates, Trace("recording", {"a": INPUT, "o": wrong}, 2, 8))
    message = "must be as in the co-simulation of the generated Verilog, not 1 in cycle 5"
    assert str(refused.value) == f"recording: net o: {message}"


def test_undefined_output_is_not_compared(tmp_path: Path) -> None:
    gates = gate_level(SizableDesign(chain(), powered_libraries(tmp_path)), {})
    unknown = [None if cycle == 5 else value for cycle, value in enumerate(OUTPUT)]
    assert replay(gates, Trace("test", {"a": INPUT, "o": unknown}, 2, 8)).cycles == 6


@pytest.mark.parametrize("missing", ["a", "o"])
def test_recording_without_a_port_is_refused(tmp_path: Path, missing: str) -> None:
    gates = gate_level(SizableDesign(chain(), powered_libraries(tmp_path)), {})
    values = {"a": INPUT, "o": OUTPUT}
    values.pop(missing)
    with pytest.raises(InputError, match=rf"^recording: net {missing}: must be in the recording"):
        replay(gates, Trace("recording", values, 2, 8))


BENCH = """\
module bench;
  reg clk = 0; reg we, re; reg [1:0] address; reg [2:0] i;
  wire [2:0] o; wire [1:0] count;
  store store(.clk(clk), .we(we), .re(re), .address(address), .i(i));
  rtl rtl(clk, we, re, address, i, o, count);
  integer n;
  initial for (n = 0; n < 200; n = n + 1) begin
    {we, re, address, i} = n < 4 ? {2'b10, n[1:0], n[2:0]} : $random;
    #5 $display("@%b %b %b %b %b %b;NETS", we, re, address, i, o, count, PRINTED);
    clk = 1; #5 clk = 0;
  end
endmodule
"""


def _store(folder: Path, verilog: str = MEMORY) -> SizableDesign:
    libraries = tiny_libraries(folder)
    options = MapOptions("area", "store.v")
    return SizableDesign(map_design(verilog, "store", libraries, folder, options), libraries)


def test_memory_and_toggles_of_internal_nets_are_those_of_a_simulator(tmp_path: Path) -> None:
    """Compare with Icarus, which prints the nets of the netlist, and the ports of the design."""
    design = _store(tmp_path)
    inside = design.insides["store"]
    names = [
        one
        for one in inside.nets
        if one.isidentifier() and one not in design.modules["store"].ports
    ]
    bench = BENCH.replace("NETS", "%b" * len(names))
    bench = bench.replace("PRINTED", ", ".join(f"store.{name}" for name in names))
    memories = [one.verilog for one in design.memories.values()]
    netlist = simulatable(design.mapped().verilog, memories, design.libraries)
    (tmp_path / "all.v").write_text(netlist + MEMORY.replace("store", "rtl") + bench)
    subprocess.run(["iverilog", "-g2012", "-o", "all.vvp", "all.v"], cwd=tmp_path, check=True)
    said = subprocess.run(["vvp", "all.vvp"], cwd=tmp_path, check=True, stdout=subprocess.PIPE)
    lines = [one[1:] for one in said.stdout.decode().splitlines() if one[0] == "@"]
    rows = [line.partition(";")[0].split() for line in lines]
    ports = ("we", "re", "address", "i", "o", "count")
    values = {
        port: [None if "x" in row[place] else int(row[place], 2) for row in rows]
        for place, port in enumerate(ports)
    }
    first = 20
    nets = [line.partition(";")[2] for line in lines[first - 1 :]]
    assert len(names) > 10 and not any("x" in row for row in nets)
    gates = gate_level(design, {})
    assert [one.bits for one, _ in gates.memories] == [12]
    found = replay(gates, Trace("test", values, first, len(lines)))
    toggles = [
        sum(now[place] != before[place] for before, now in pairwise(nets))
        for place in range(len(names))
    ]
    number = [CONSTANTS + int(inside.flat.net[inside.nets[name]]) for name in names]
    assert (found.toggles[number] * found.cycles).round().astype(int).tolist() == toggles
    assert sum(toggles) > 500


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (re) o <= words[address];", "if (re) o <= we ? i : words[address];"),
        (
            "if (re) o <= words[address];",
            "end always @* o = words[address]; always @(posedge clk) begin",
        ),
    ],
    ids=["write first", "without a clock"],
)
def test_memory_that_reads_otherwise_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in MEMORY
    with pytest.raises(
        InputError, match=r"^store: memory fred_memory_4x3\S*: must read the word be"
    ):
        gate_level(_store(tmp_path, MEMORY.replace(old, new)), {})


def _mapped(verilog: str) -> Mapped:
    return Mapped("chain", verilog, {}, {})


def test_logic_that_depends_on_itself_is_refused(tmp_path: Path) -> None:
    looped = chain().verilog.replace(".A(a)", ".A(b)")
    with pytest.raises(InputError, match=r"^chain: must not contain a combinational loop$"):
        gate_level(SizableDesign(_mapped(looped), powered_libraries(tmp_path)), {})


def test_other_clock_is_refused(tmp_path: Path) -> None:
    other = chain().verilog.replace(".CK(clk)", ".CK(b)")
    with pytest.raises(InputError, match=r"flip-flop chain.c_reg: must be clocked by the rising"):
        gate_level(SizableDesign(_mapped(other), powered_libraries(tmp_path)), {})


def test_latch_is_refused(tmp_path: Path) -> None:
    text = POWERED.replace(
        'ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; }', "latch (IQ, IQN) { }"
    )
    with pytest.raises(InputError, match=r"cell DFF: must be clocked by a rising edge"):
        gate_level(SizableDesign(chain(), powered_libraries(tmp_path, text)), {})
