"""Tests of synth.mapping: Yosys maps each module once, and what it maps computes the same."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from fred_hw.load import load_spec
from gen.design import generate
from synth import mapping
from synth.mapping import EFFORTS, MapOptions, Mapped, map_design
from synth.netlist import read_netlist
from tests.synth.tiny import tiny_libraries

MODELS = """\
module INV(input A, output Y); assign Y = !A; endmodule
module BUF(input A, output Y); assign Y = A; endmodule
module BUFX2(input A, output Y); assign Y = A; endmodule
module NAND2(input A, B, output Y); assign Y = !(A & B); endmodule
module NOR2(input A, B, output Y); assign Y = !(A | B); endmodule
module DFF(input CK, D, output reg Q); always @(posedge CK) Q <= D; endmodule
"""

EQUIVALENCE = """\
read_verilog -sv design.v
prep -flatten -top {top}
memory_map
setattr -unset init w:*
rename {top} gold
design -stash gold
read_verilog mapped.v models.v
prep -flatten -top {top}
rename {top} gate
design -stash gate
design -copy-from gold gold
design -copy-from gate gate
async2sync
equiv_make gold gate equiv
prep -top equiv
equiv_simple -undef
equiv_induct -undef
equiv_status -assert
"""

MEMORY = """\
module queue(input clk, input we, input [2:0] a, input [3:0] d, output reg [3:0] q, output [3:0] t);
  reg [3:0] words [0:7];
  reg [3:0] table_ [0:7];
  initial for (int n = 0; n < 8; n++) table_[n] = n * 3;
  assign t = table_[a];
  always @(posedge clk) begin if (we) words[a] <= d; q <= words[a]; end
endmodule
"""

SIZES = """\
module step #(parameter W = 1)(input clk, input [W-1:0] i, output reg [W-1:0] o);
  always @(posedge clk) o <= i + 1;
endmodule
module steps(input clk, input [3:0] i, output [3:0] o, output [1:0] p);
  step #(4) wide(clk, i, o);
  step #(2) narrow(clk, i[1:0], p);
endmodule
"""


def mapped(
    verilog: str, top: str, folder: Path, effort: str = "area", flat: bool = False
) -> Mapped:
    options = MapOptions(effort, "source", flat)
    return map_design(verilog, top, tiny_libraries(folder), folder, options)


@pytest.mark.parametrize("effort", EFFORTS)
def test_what_is_mapped_computes_the_same(tmp_path: Path, effort: str) -> None:
    design = generate(load_spec("tiny-2"))
    result = mapped(design.verilog, design.name, tmp_path, effort)
    modules = read_netlist(result.verilog, tiny_libraries(tmp_path))
    assert modules.keys() == design.modules.keys()
    (tmp_path / "mapped.v").write_text(result.verilog)
    (tmp_path / "models.v").write_text(MODELS)
    code = (
        "import sys\nfrom pyosys import libyosys as yosys\ndesign = yosys.Design()\n"
        "for line in sys.stdin.read().splitlines():\n    yosys.run_pass(line, design)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        input=EQUIVALENCE.format(top=design.name),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Equivalence successfully proven!" in said.stdout, said.stdout[-2000:]
    compared = re.search(r"Found (\d+) \$equiv cells in equiv", said.stdout)
    assert compared and int(compared[1]) > 48, "every register is compared"


def test_registers_have_the_names_of_their_signals(tmp_path: Path) -> None:
    design = generate(load_spec("tiny-2"))
    result = mapped(design.verilog, design.name, tmp_path)
    modules = read_netlist(result.verilog, tiny_libraries(tmp_path))
    signals = {signal for signal, _ in modules["rd_microswitch_int8x1_a1"].registers}
    assert {"configuration_q1", "o__0__data", "i0__data"} <= signals
    assert not [signal for signal in signals if re.search(r"^_\d+_$", signal)]


def test_a_module_is_mapped_alike_in_every_design(tmp_path: Path) -> None:
    texts = []
    for name in ("tiny-2", "small-4"):
        design = generate(load_spec(name, {"format": "int8", "lanes": 1, "adder_registers": 1}))
        result = mapped(design.verilog, design.name, tmp_path, "speed")
        modules = read_netlist(result.verilog, tiny_libraries(tmp_path))
        texts.append({name: modules[name].text for name in modules if not name.startswith("fred")})
    one, other = texts
    assert one.keys() < other.keys() and {name: other[name] for name in one} == one


def test_flat_is_one_module(tmp_path: Path) -> None:
    design = generate(load_spec("tiny-2"))
    result = mapped(design.verilog, design.name, tmp_path, flat=True)
    assert list(read_netlist(result.verilog, tiny_libraries(tmp_path))) == [design.name]


def test_a_memory_is_put_aside_and_a_table_is_logic(tmp_path: Path) -> None:
    result = mapped(MEMORY, "queue", tmp_path)
    ((name, (memory,)),) = result.memories.items()
    assert (name, memory.words, memory.width, memory.bits) == ("queue", 8, 4, 32)
    assert memory.pins["WEN"] == ("input", 1), "one enable for all bits"
    module = read_netlist(result.verilog, tiny_libraries(tmp_path))["queue"]
    assert [one.module for one in module.instances] == [memory.kind]
    assert module.registers.total() <= 4 and module.cells.total() > 4
    assert module.clocks == {"clk"}


def test_a_module_of_two_sizes_is_two_modules(tmp_path: Path) -> None:
    modules = read_netlist(mapped(SIZES, "steps", tmp_path).verilog, tiny_libraries(tmp_path))
    assert sorted(module.registers.total() for module in modules.values()) == [0, 2, 4]
    assert {one.module for one in modules["steps"].instances} == modules.keys() - {"steps"}


@pytest.mark.parametrize(
    ("verilog", "message"),
    [
        ("module a(input x;\nendmodule\n", "line 1: syntax error, .*"),
        ("module b; endmodule\n", "Module `a' not found!"),
        ("module a; c inner(); endmodule\n", r"Module `\\c' referenced in module `\\a' .*"),
    ],
)
def test_what_yosys_refuses_is_said(tmp_path: Path, verilog: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        mapped(verilog, "a", tmp_path)
    pattern = f"source: must be what Yosys maps, not with: {message}"
    assert re.fullmatch(pattern, str(refused.value))


def test_what_abc_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(mapping.EFFORTS, "area", "no_such_command")
    with pytest.raises(InputError, match=r"^source: must be what Yosys maps, not with: .*ABC "):
        mapped(SIZES, "steps", tmp_path)
