"""Tests of synth.mapping: Yosys maps each module once, and what it maps computes the same."""

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event
from typing import Any
from unittest.mock import Mock

import pytest

from fred_hw.errors import InputError
from fred_hw.load import load_spec
from gen.design import generate
from synth import mapping
from synth.liberty import Libraries, read_libraries
from synth.mapping import EFFORTS, MapOptions, Mapped, map_design
from synth.netlist import read_netlist
from testbench.sim.kept import kept
from tests.synth.tiny import tiny_liberty, tiny_libraries

MODELS = """\
module INV(input A, output Y); assign Y = !A; endmodule
module BUF(input A, output Y); assign Y = A; endmodule
module BUFX2(input A, output Y); assign Y = A; endmodule
module NAND2(input A, B, output Y); assign Y = !(A & B); endmodule
module NOR2(input A, B, output Y); assign Y = !(A | B); endmodule
module DFF(input CK, D, output reg Q); always @(posedge CK) Q <= D; endmodule
module DFFN(input CK, D, output reg QN); always @(posedge CK) QN <= !D; endmodule
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

STORING = """\
module storing(input clk, input [3:0] a, b, output reg [3:0] n, q);
  reg [3:0] p;
  always @(posedge clk) begin n <= a & b; p <= a; q <= p; end
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


TWO = """\
module two(input i, output o); one inner(i, o); endmodule
module one(input i, output o); assign o = !i; endmodule
"""

SPEAKING = """\
module speaking(input clk, input d, output reg q);
  always @(posedge clk) begin
    q <= !d;
    if (d) $display("taken %d", q);
    assert (d | q);
    cover (q);
  end
endmodule
"""


def mapped(
    verilog: str, top: str, folder: Path, effort: str = "area", flat: bool = False
) -> Mapped:
    options = MapOptions(effort, "source", flat)
    return map_design(verilog, top, tiny_libraries(folder), folder, options)


@pytest.mark.slow
@pytest.mark.parametrize("effort", EFFORTS)
def test_what_is_mapped_computes_the_same(tmp_path: Path, effort: str) -> None:
    design = kept(generate, load_spec("tiny-2"))
    result = mapped(design.verilog, design.name, tmp_path, effort)
    modules = read_netlist(result.verilog, tiny_libraries(tmp_path))
    assert modules.keys() == design.modules.keys()
    proven(design.name, result, tmp_path, registers=48)


def inverting_libraries(folder: Path, *, dear: bool) -> Libraries:
    """Return the library with an inverting flip-flop beside the other, which is dear or not."""
    text = tiny_liberty()
    cell = text[text.index("  cell (DFF)") : text.rindex("}")]
    other = cell.replace("(DFF)", "(DFFN)").replace("(Q)", "(QN)").replace('"IQ"', '"IQN"')
    if dear:
        text = text.replace("area : 6.0", "area : 7.5")
    path = folder / "inverting.lib"
    path.write_text(text[: text.rindex("}")] + other + "}\n")
    return read_libraries([path])


@pytest.mark.parametrize(("effort", "dear"), [("clock", True), ("clock", False), ("speed", True)])
def test_flip_flops_invert_where_they_and_an_inverter_are_smaller(
    tmp_path: Path, effort: str, dear: bool
) -> None:
    libraries = inverting_libraries(tmp_path, dear=dear)
    options = MapOptions(effort, "source")
    result = map_design(STORING, "storing", libraries, tmp_path, options)
    (module,) = read_netlist(result.verilog, libraries).values()
    kind = "DFFN" if (effort, dear) == ("clock", True) else "DFF"
    assert {name: n for name, n in module.cells.items() if "DFF" in name} == {kind: 12}
    assert {signal for signal, _ in module.registers} == {"n", "p", "q"}
    if kind == "DFFN":
        assert module.cells["NAND2"] == 4, "their inverters are in front of them"
        assert "INV" not in module.cells, "two of them in a row need none"
        proven("storing", result, tmp_path, registers=7)  # the outputs


def proven(top: str, result: Mapped, folder: Path, *, registers: int) -> None:
    """Prove that what was mapped is the same, with more than some registers compared."""
    (folder / "mapped.v").write_text(result.verilog)
    (folder / "models.v").write_text(MODELS)
    code = (
        "import sys\nfrom pyosys import libyosys as yosys\ndesign = yosys.Design()\n"
        "for line in sys.stdin.read().splitlines():\n    yosys.run_pass(line, design)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        input=EQUIVALENCE.format(top=top),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Equivalence successfully proven!" in said.stdout, said.stdout[-2000:]
    compared = re.search(r"Found (\d+) \$equiv cells in equiv", said.stdout)
    assert compared and int(compared[1]) > registers, "every register is compared"


def test_registers_have_the_names_of_their_signals(tmp_path: Path) -> None:
    design = kept(generate, load_spec("tiny-2"))
    result = mapped(design.verilog, design.name, tmp_path)
    modules = read_netlist(result.verilog, tiny_libraries(tmp_path))
    signals = {name: {signal for signal, _ in module.registers} for name, module in modules.items()}
    takes = {f"o{port}_takes_{which}_q1" for port in range(2) for which in ("first", "second")}
    inside = {"configuration_q1", "i0_valid_q1", "i1_valid_q1", "first_q1", "second_q1"}
    assert signals["rd_microswitch_int8x1_a1"] == takes | inside
    assert signals["lanes_int8x1_a1"] == {"lane_0_reduce"}
    assert signals["int8_add_saturate_a1"] == {"add_q", "add_q_own"}


@pytest.mark.slow
def test_a_module_is_mapped_alike_in_every_design(tmp_path: Path) -> None:
    texts, least = [], {"format": "int8", "lanes": 1, "adder_registers": 1}
    for name in ("tiny-2", "small-4"):
        design = kept(generate, load_spec(name, least))
        result = mapped(design.verilog, design.name, tmp_path, "speed")
        modules = read_netlist(result.verilog, tiny_libraries(tmp_path))
        texts.append({name: modules[name].text for name in modules if not name.startswith("fred")})
    one, other = texts
    assert one.keys() < other.keys() and {name: other[name] for name in one} == one


def test_flat_is_one_module(tmp_path: Path) -> None:
    design = kept(generate, load_spec("tiny-2"))
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
        (
            "module a(input e, i, output o); assign o = e ? i : 1'bz; endmodule\n",
            r"Module `a' has what no cell does: \$_TBUF_",
        ),
    ],
)
def test_what_yosys_refuses_is_said(tmp_path: Path, verilog: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        mapped(verilog, "a", tmp_path)
    pattern = f"source: must be Verilog that Yosys maps, not with: {message}"
    assert re.fullmatch(pattern, str(refused.value))


@pytest.mark.parametrize(
    ("verilog", "message"),
    [
        ("module a; endmodule\n", "module a: must have contents or be a cell of .*"),
        (
            "module ram(input i); endmodule module a(input i); ram inner(i); endmodule\n",
            "module ram: must have contents or be a cell of the library, not be empty",
        ),
        (
            "module INV(input i); wire o = !i; endmodule module a(input i); INV u(i); endmodule\n",
            "module INV: must have a name of its own, not that of a cell of the library",
        ),
    ],
    ids=["top", "inner", "cell"],
)
def test_modules_whose_area_nobody_knows_are_refused(
    tmp_path: Path, verilog: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"^source: {message}$"):
        mapped(verilog, "a", tmp_path)


def test_a_cell_of_the_library_may_stand_in_verilog(tmp_path: Path) -> None:
    verilog = (
        "(* blackbox *) module INV(input A, output Y); endmodule\n"
        "module a(input i, output o); INV inner(i, o); endmodule\n"
    )
    modules = read_netlist(mapped(verilog, "a", tmp_path).verilog, tiny_libraries(tmp_path))
    assert modules["a"].cells == {"INV": 1}


def test_what_only_simulators_do_is_left_out(tmp_path: Path) -> None:
    result = mapped(SPEAKING, "speaking", tmp_path)
    assert "$" not in result.verilog.partition("module")[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["_top", "a$b", "cell", "step_0"])
def test_names_that_verilog_allows_are_mapped(tmp_path: Path, name: str) -> None:
    """Also those that tools have for themselves, and those that modules of parameters get."""
    parts = f"step #(2) u(c, i, o); step #(3) v(c, i, p); {name} w(c, i, q); \\x.y z(c, i, r);"
    verilog = (
        f"module top(input c, i, output o, p, q, r); {parts} endmodule\n"
        "module step #(parameter W = 1)(input c, i, output reg o);\n"
        "  always @(posedge c) o <= !i;\nendmodule\n"
        f"module {name}(input c, i, output reg o); always @(posedge c) o <= !i; endmodule\n"
        "module \\x.y (input c, i, output reg o); always @(posedge c) o <= !i; endmodule\n"
    )
    libraries = tiny_libraries(tmp_path)
    modules = read_netlist(mapped(verilog, "top", tmp_path).verilog, libraries)
    assert {one.module for one in modules["top"].instances} == modules.keys() - {"top"}
    assert len(modules) == 5 and name in modules
    alone = read_netlist(mapped(verilog, name, tmp_path).verilog, libraries)
    assert list(alone) == [name]


def test_a_library_that_yosys_refuses_is_named(tmp_path: Path) -> None:
    (tmp_path / "tiny.lib").write_text(tiny_liberty().replace("cell (BUF)", "odd odd; cell (BUF)"))
    libraries = read_libraries([tmp_path / "tiny.lib"])
    with pytest.raises(InputError, match=r"/tiny\.lib: must be .* liberty file on line \d+\.$"):
        map_design(SIZES, "steps", libraries, tmp_path, MapOptions("area", "source"))


@pytest.mark.slow
def test_spaces_in_the_name_of_the_work_folder_do_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / "a b [c]"
    folder.mkdir()
    assert mapped(SIZES, "steps", folder).verilog == mapped(SIZES, "steps", tmp_path).verilog


def test_a_worker_that_begins_while_another_fails_gets_no_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody ends it, as it was not there when all were ended."""
    real, end, handled = mapping.running, ThreadPoolExecutor.shutdown, Event()
    begun, late = Barrier(2), Mock()

    @contextmanager
    def running(log: Path, source: str, *limits: Any) -> Iterator[Any]:
        if log.name == "yosys.log":
            with real(log, source, *limits) as worker:
                yield worker
            return
        if begun.wait(60) == 0:
            raise InputError(source, "", "fails")
        assert handled.wait(60)
        yield late

    def shutdown(pool: ThreadPoolExecutor, wait: bool = True, **options: bool) -> None:
        handled.set()
        end(pool, wait, **options)

    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(mapping, "running", running)
    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", shutdown)
    with pytest.raises(InputError, match=r"^source: fails$"):
        mapped(TWO, "two", tmp_path)
    late.do.assert_not_called()


def test_what_abc_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(mapping.EFFORTS, "area", "no_such_command")
    with pytest.raises(
        InputError, match=r"^source: must be Verilog that Yosys maps, not with: .*ABC "
    ):
        mapped(SIZES, "steps", tmp_path)
