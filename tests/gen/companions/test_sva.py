"""Tests of gen.companions.sva: each assertion can fail, and only what breaks a rule violates it."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.load import load_spec
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES
from gen.companions.sva import assertions, bind_file
from gen.design import Design, generate
from gen.link_assertions import link_module
from testbench.cosimulation.benches import benches
from testbench.cosimulation.cosimulate_switch import PROBES
from testbench.models.endpoint import endpoint_library
from testbench.models.protocol_header import protocol_header
from testbench.sim.kept import kept
from testbench.sim.runner import BenchRun, run_bench
from testbench.sim.verilate import verilate
from tests.gen.companions.violations import Cycles, legal, violations
from tests.gen.tools import debian_verilator, lint
from tests.testbench.cases import small

LEVELS = ("switch", "endpoint")
LABEL = re.compile(r"^  (\w+): assert property", re.MULTILINE)
REPORTED = re.compile(r"Assertion failed in \S+: (\w+): ")
STRICT = "-DFRED_ERROR_FREE_LINKS"
NO_LIMIT = "+verilator+error+limit+1000000"

SPEC = load_spec("tiny-2").with_changes(
    endpoint=EndpointSpec(read_ports=2, schedule_entries=4).model_dump()
)

MAIN = """
#include "Vtb.h"
#include "verilated.h"
int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vtb top{&context};
    for (int k = 0; k < 2 * CYCLES && !context.gotFinish(); ++k) {
        top.clk = k & 1;
        top.eval();
        context.timeInc(1);
    }
    top.final();
}
"""
CYCLES = 80


@cache
def design_of(level: str) -> Design:
    return kept(generate, SPEC, level=level)


def bench_of(level: str) -> tuple[str, list[tuple[str, int]]]:
    """Return a bench of the assertions alone, and the pins of its rows, the lowest first."""
    top = assertions(design_of(level)).rpartition("\nmodule ")[2]
    name = top.partition(" ")[0]
    ports = re.findall(r"^  input logic (?:\[(\d+):0\] )?(\w+)", top, re.MULTILINE)
    pins = [(port, int(high or 0) + 1) for high, port in ports if port != "clk"]
    low, joined = 0, [".clk(clk)"]
    for port, bits in pins:
        joined.append(f".{port}(row[{low} +: {bits}])")
        low += bits
    lines = [
        "module tb(input logic clk);",
        f"  logic [{low - 1}:0] row, rows [{CYCLES}];",
        "  integer now = 0;",
        "  string file;",
        '  initial if ($value$plusargs("rows=%s", file)) $readmemh(file, rows);',
        "  always @(negedge clk) begin",
        "    row <= rows[now];",
        f"    now <= now == {CYCLES - 1} ? now : now + 1;",
        "  end",
        f"  {name} dut ({', '.join(joined)});",
        "endmodule",
    ]
    return "\n".join(lines), pins


@cache
def program_of(level: str) -> Path:
    bench, _ = bench_of(level)
    main = MAIN.replace("CYCLES", str(CYCLES))
    text = f"{assertions(design_of(level))}\n{bench}\n"
    return verilate(text, "tb", {"main.cpp": main}, options=["--assert", STRICT])


def reported(level: str, cycles: Cycles, folder: Path) -> list[str]:
    """Return the assertions that a stimulus violates, after a reset of two cycles."""
    _, pins = bench_of(level)
    steps = [{"rst": 1}, {"rst": 1}, {}, *cycles]
    steps += [{}] * (CYCLES - len(steps))
    rows = []
    for step in steps:
        assert step.keys() <= {pin for pin, _ in pins} and len(steps) == CYCLES
        low = row = 0
        for pin, bits in pins:
            row |= step.get(pin, 0) << low
            low += bits
        rows.append(f"{row:x}\n")
    (folder / "rows.hex").write_text("".join(rows))
    words = [program_of(level), f"+rows={folder / 'rows.hex'}", NO_LIMIT]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return REPORTED.findall(done.stdout)


@pytest.mark.parametrize("level", LEVELS)
def test_each_assertion_has_a_violation(level: str) -> None:
    labels = LABEL.findall(assertions(design_of(level)))
    assert len(set(labels)) == len(labels) > 20
    assert set(labels) == set(violations(level, SPEC))


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_violation_is_reported_by_its_name_alone(level: str, tmp_path: Path) -> None:
    assert reported(level, legal(level, SPEC), tmp_path) == []
    for name, stimuli in violations(level, SPEC).items():
        for cycles in stimuli:
            assert set(reported(level, cycles, tmp_path)) == {name}


@pytest.mark.sim
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("option", ["-Wall", STRICT])
def test_verilator_finds_nothing(level: str, option: str, tmp_path: Path) -> None:
    design = design_of(level)
    (tmp_path / "top.sva").write_text(assertions(design))
    top = f"{design.name}_sva"
    assert lint(tmp_path, top, option, "--assert", "top.sva") == (0, "")
    if oldest := debian_verilator():
        assert lint(tmp_path, top, option, "--assert", "top.sva", program=oldest) == (0, "")


@pytest.mark.parametrize("level", LEVELS)
def test_slang_finds_nothing(level: str) -> None:
    slang = pytest.importorskip("pyslang")
    design = design_of(level)
    for strict in ("", "`define FRED_ERROR_FREE_LINKS\n"):
        found = slang.ast.Compilation()
        found.addSyntaxTree(slang.syntax.SyntaxTree.fromText(strict + assertions(design)))
        assert [str(one.code) for one in found.getAllDiagnostics()] == []
    whole = slang.ast.Compilation()
    for text in (design.verilog, assertions(design), bind_file(design)):
        whole.addSyntaxTree(slang.syntax.SyntaxTree.fromText(text))
    assert not any(one.isError() for one in whole.getAllDiagnostics())


def test_slang_finds_nothing_on_a_link_whose_source_chooses() -> None:
    slang = pytest.importorskip("pyslang")
    mesh = MeshSpec(width=3, height=2, lanes=1, format="int8", routing="odd_even_adaptive")
    text = link_module("link", mesh.link)
    found = slang.ast.Compilation()
    found.addSyntaxTree(slang.syntax.SyntaxTree.fromText(text))
    assert not any(one.isError() for one in found.getAllDiagnostics())


UNKNOWN_KIND = {"link_kind", "link_circuit", "link_control_data"}

BROKEN_ON_PURPOSE = {
    "access_to_no_register_is_reported": {"axil_read_register", "axil_write_register"},
    "any_register_may_be_written_at_any_time": {"phase_exists", "command_accepted"},
    "entry_that_joins_two_flows_is_refused": {"command_accepted"},
    "flit_beyond_the_credits_is_reported": {"link_credits"},
    "handshake_to_an_earlier_session_makes_no_link": UNKNOWN_KIND,
    "header_of_unknown_kind_is_reported": UNKNOWN_KIND,
    "messages_of_other_flows_do_no_harm": {"link_unused_bits"},
    "neighbour_with_other_sizes_is_refused_and_reported": {"link_digest"},
    "packet_that_is_too_long_is_reported": {"link_index"},
    "tlast_of_a_source_is_not_looked_at": {"link_tlast"},
    "write_of_a_part_of_a_register_is_reported": {"axil_write_whole"},
}
"""Tests of the regression that break rules, and the rules."""


def by_test(log: str) -> dict[str, set[str]]:
    """Return the assertions that each test of a log violated."""
    found: dict[str, set[str]] = {}
    test = ""
    for line in log.splitlines():
        if started := re.search(r"running \S*\.(\w+)", line):
            test = started[1]
        for name in REPORTED.findall(line):
            found.setdefault(test, set()).add(name)
    return found


def bound(spec: SwitchSpec) -> tuple[str, str]:
    """Return a switch with its assertions bound, and the name of its top module."""
    design = kept(generate, spec, level="switch")
    return design.verilog + assertions(design) + bind_file(design), design.name


@pytest.mark.sim
@pytest.mark.slow
def test_regression_violates_only_what_it_breaks_on_purpose(tmp_path: Path) -> None:
    spec = small()
    endpoint_library(protocol_header(ProtocolSpec()))
    verilog, top = bound(spec)
    latency = latency_cycles(spec) + ADDED_CYCLES
    run = BenchRun(
        module=",".join(benches("switch")),
        simulator="verilator",
        seed=7,
        plusargs=[NO_LIMIT],
        probes=PROBES,
        environment={
            "FRED_SPEC": spec.model_dump_json(),
            "FRED_LATENCY": str(latency),
            "FRED_PACKETS": "3",
        },
    )
    result = run_bench(verilog, top, run, tmp_path)
    assert [(test.name, test.message) for test in result.failures] == []
    assert len(result.tests) > 40
    assert by_test((tmp_path / "simulation.log").read_text()) == BROKEN_ON_PURPOSE
