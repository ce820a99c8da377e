"""What compiled fabrics simulate in place of a design does what the design does, right or wrong."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from fred_hw.link.crc import FlitCrc
from fred_hw.link.framer import Framer
from fred_hw.mesh.spec import MeshSpec
from gen.emitter import VerilogEmitter
from testbench.sim.constants import with_constants
from testbench.sim.lookups import with_lookups
from testbench.sim.selections import with_selections
from testbench.sim.tools import icarus_bin

CRC = FlitCrc(data_width=16)
TABLE = "\n".join(
    [
        "module choice(index, table_, o);",
        *("  input [3:0] index;", "  wire [3:0] index;", "  input [47:0] table_;"),
        *("  wire [47:0] table_;", "  output [2:0] o;", "  wire [2:0] o;"),
        *(f"  wire is_{k};\n  wire [2:0] part_{k};\n  wire [2:0] or_{k};" for k in range(16)),
        "  assign is_0 = ! index[3:0];",
        *(
            f"  assign is_{k} = index[3:0] == {max(1, k.bit_length())}'h{k:x};"
            for k in range(1, 16)
        ),
        *(
            f"  assign part_{k} = is_{k} ? table_[{3 * k + 2}:{3 * k}] : 3'h0;"
            for k in reversed(range(16))
        ),
        "  assign or_1 = part_0 | part_1;",
        *(f"  assign or_{k} = or_{k - 1} | part_{k};" for k in range(2, 16)),
        "  assign o = or_15;",
        "endmodule",
    ]
)
"""As yosys writes ``selected``."""

needs_icarus = pytest.mark.skipif(icarus_bin() is None, reason="Icarus is not installed")


@cache
def emitted(unit: FlitCrc | Framer) -> str:
    emitter = VerilogEmitter()
    emitter.add(unit)
    return emitter.verilog()


def ports(verilog: str, top: str) -> dict[str, list[tuple[str, int]]]:
    """Return names and widths of a module's inputs and outputs."""
    text = re.search(rf"^module {top}\(.*?^endmodule", verilog, re.M | re.S)
    assert text is not None
    found = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", text[0], re.M)
    return {
        way: [(name, int(high or 0) + 1) for kind, high, name in found if kind == way]
        for way in ("input", "output")
    }


def same(first: str, second: str, top: str, folder: Path, words: int = 400) -> bool:
    """Return whether two designs do the same with random inputs in each cycle."""
    named = ports(first, top)
    inputs = [one for one in named["input"] if one[0] not in ("clk", "rst")]
    second = re.sub(r"^module (\w+)", r"module other_\1", second, flags=re.M)
    second = re.sub(r"^  (\w+) (\w+) \($", r"  other_\1 \2 (", second, flags=re.M)
    lines = ["module bench;", "  reg clk = 0, rst = 1; integer k, wrong = 0;"]
    lines += [f"  reg [{width - 1}:0] {name};" for name, width in inputs]
    for one in ("a", "b"):
        lines += [f"  wire [{width - 1}:0] {one}_{name};" for name, width in named["output"]]
        joined = [f".{name}({name})" for name, _ in named["input"]]
        joined += [f".{name}({one}_{name})" for name, _ in named["output"]]
        lines.append(f"  {'other_' if one == 'b' else ''}{top} {one} ({', '.join(joined)});")
    lines.append(f"  initial begin for (k = 0; k < {words}; k = k + 1) begin")
    for name, width in inputs:
        values = ", ".join("$random" for _ in range(-(-width // 32)))
        lines.append(f"    {name} = {{{values}}};")
    lines += ["    #1 clk = 1; #1 if (k > 3) rst = 0; #1 clk = 0; #1;"]
    lines += [
        f"    if (k > 3 && a_{name} !== b_{name}) wrong = wrong + 1;" for name, _ in named["output"]
    ]
    lines += ['  end $display("%0d WRONG", wrong); end', "endmodule"]
    (folder / "bench.v").write_text("\n".join([first, second, *lines]))
    for command in (["iverilog", "-g2012", "-o", "bench", "bench.v"], ["vvp", "-n", "bench"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1] == "0 WRONG"


@needs_icarus
@pytest.mark.parametrize("unit", [CRC, Framer(spec=MeshSpec(width=2, height=1, lanes=1).link)])
def test_parities_are_looked_up(unit: FlitCrc | Framer, tmp_path: Path) -> None:
    design = emitted(unit)
    changed = with_lookups(design)
    assert changed.count(" case (lookup_0_") == (9 if isinstance(unit, FlitCrc) else 7)
    assert " case (lookup_1" not in changed
    assert same(design, changed, unit.unit_name, tmp_path)


@needs_icarus
def test_what_is_wrong_in_a_design_stays_as_wrong(tmp_path: Path) -> None:
    design = emitted(CRC)
    wrong = design.replace(
        "assign crc_15 = ^ { word[71:70]", "assign crc_15 = ^ { word[71], 1'h0", 1
    )
    assert wrong != design
    assert same(wrong, with_lookups(wrong), CRC.unit_name, tmp_path)
    assert not same(design, with_lookups(wrong), CRC.unit_name, tmp_path)


def test_short_words_and_other_operators_are_left() -> None:
    declared = "".join(f"  wire {name};\n" for name in ("a", "b", "c", "d", "e", "f"))
    short = "  assign e = a ^ b ^ c ^ d;\n" * 20 + "  assign f = { e, e, e };\n"
    design = f"module short(a);\n{declared}{short}endmodule\n"
    assert with_lookups(design) == design


@needs_icarus
def test_a_selection_is_a_part(tmp_path: Path) -> None:
    changed = with_selections(TABLE)
    assert "assign or_15 = table_[index[3:0] * 3 +: 3];" in changed
    assert same(TABLE, changed, "choice", tmp_path)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("index[3:0] == 4'h9", "index[3:0] == 4'h8"),  # one twice, one not at all
        ("table_[29:27]", "table_[28:26]"),
        ("part_9 = is_9", "part_9 = clk"),
        ("or_14 | part_15", "or_14 | is_15"),
    ],
)
def test_what_is_no_part_is_left(was: str, now: str) -> None:
    design = TABLE.replace(was, now)
    assert design != TABLE
    assert with_selections(design) == design


@needs_icarus
def test_constants_are_no_ports(tmp_path: Path) -> None:
    changed = with_constants(TABLE, "choice", {"index": 5})
    assert ports(changed, "choice")["input"] == [("table_", 48)]
    bound = TABLE.replace("output [2:0] o;", "output [2:0] o; wire [3:0] index = 5;")
    bound = bound.replace("choice(index, ", "choice(").replace(
        "  input [3:0] index;\n  wire [3:0] index;\n", ""
    )
    assert same(bound, changed, "choice", tmp_path)


def test_a_constant_that_is_no_input_is_refused() -> None:
    text = r"^constants must be inputs of choice, not indices$"
    with pytest.raises(ValueError, match=text):
        with_constants(TABLE, "choice", {"indices": 5})
