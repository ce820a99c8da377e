"""Tests of testbench.sim.lighter."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.link.flit_check import FlitCheck
from fred_hw.spec import SwitchSpec
from gen.design import generate
from gen.emitter import VerilogEmitter
from testbench.sim.lighter import lighter

SPEC = SwitchSpec(ports=2, lanes=1, format="int8", adder_registers=1)
SCRIPT = """
import sys
from pyosys import libyosys as yosys
design = yosys.Design()
for command in sys.argv[1:]:
    yosys.run_pass(command, design)
"""
COMPARE = [
    "design -copy-from one one",
    "design -copy-from other other",
    "equiv_make one other both",
    "hierarchy -top both",
    "equiv_simple -seq 1",
    "equiv_induct",
    "equiv_status -assert",
]


def module(*lines: str) -> str:
    """Return a module with these lines in it."""
    return "\n".join(["module m(clk, d);", *(f"  {line}" for line in lines), "endmodule", ""])


def are_equal(one: str, other: str, top: str, folder: Path) -> bool:
    """Return whether two texts do the same, from any state on."""
    commands: list[str] = []
    for name, text in (("one", one), ("other", other)):
        (folder / f"{name}.v").write_text(text)
        commands += [f"read_verilog {name}.v", f"hierarchy -top {top}", "proc", "flatten"]
        commands += [f"rename {top} {name}", f"design -stash {name}"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *commands, *COMPARE],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    judged = "Equivalence successfully proven" in done.stdout
    assert judged == (done.returncode == 0) and (judged or "unproven" in done.stderr), done.stderr
    return judged


def of_flits() -> tuple[str, str]:
    """Return the check of a flit's CRC, and its name."""
    unit, emitter = FlitCheck(spec=SPEC), VerilogEmitter()
    emitter.add(unit)
    return emitter.verilog(), unit.unit_name


def of_interconnect() -> tuple[str, str]:
    """Return an interconnect, and its name."""
    design = generate(SPEC)
    return design.verilog, design.name


@pytest.mark.parametrize("make", [of_flits, of_interconnect])
def test_what_is_lighter_does_the_same(make: Callable[[], tuple[str, str]], tmp_path: Path) -> None:
    text, top = make()
    light = lighter(text)
    assert light.count("always") < text.count("always") / 2
    assert are_equal(text, light, top, tmp_path)


def test_what_is_not_the_same_is_told_apart(tmp_path: Path) -> None:
    text, top = of_flits()
    light = lighter(text)
    wrong = re.sub(r"(& \d+'h)(.)", lambda found: found[1] + f"{int(found[2], 16) ^ 1:x}", light)
    assert wrong != light
    assert not are_equal(text, wrong, top, tmp_path)


def test_parities_of_a_word_are_masked() -> None:
    text, _ = of_flits()
    assert len(re.findall(r"\^ \( word & ", lighter(text))) >= 32


@pytest.mark.slow
def test_a_whole_switch_has_few_registers_left() -> None:
    text = generate(SPEC, level="switch").verilog
    assert text.count("always") > 300
    assert lighter(text).count("always") < 100


def test_parts_of_registers_that_are_written_apart_are_joined_too() -> None:
    lines = ["reg [2:0] q;", "wire [3:0] p;"]
    for part, value in (("[2:1]", "[3:2]"), ("[0]", "[0]")):
        lines += ["always @(posedge clk)", f"  q{part} <= p{value};"]
    light = lighter(module(*lines))
    assert light.count("always") == 1
    assert "  wire [2:0] q;\n" in light
    assert "assign joined_d = { p[3:2], p[0] };" in light
    assert "assign { q[2:1], q[0] } = joined_q;" in light


@pytest.mark.parametrize(
    "lines",
    [
        ["reg q;", "wire p;", "always @(posedge clk)", "  q <= p;"],  # one alone
        *(
            [
                "reg [1:0] q;",
                "reg r;",
                f"wire {width}p;",
                "always @(posedge clk)",
                "  q <= p;",
                "always @(posedge clk)",
                f"  {other} <= p;",
            ]
            for width, other in (("[2:0] ", "r"), ("[1:0] ", "q[0]"), ("", "r"))
        ),
        [
            "reg [2:0] q;",  # of which a bit is left
            "wire p;",
            "always @(posedge clk)",
            "  q[2] <= p;",
            "always @(posedge clk)",
            "  q[0] <= p;",
        ],
        ["wire [3:0] a;", "assign y = ^ { a[3], 1'h0, a[2:1] };"],
        ["wire [3:0] a;", "wire [3:0] b;", "assign y = ^ { a[3:2], 1'h0, b[0] };"],
        ["wire [3:0] a;", "assign y = ^ { a[3:2], 1'h1, a[0] };"],
    ],
    ids=["one", "cut", "also a part", "filled", "not all", "elsewhere", "two words", "a one"],
)
def test_all_else_stays(lines: list[str]) -> None:
    assert lighter(module(*lines)) == module(*lines)
