"""Memories of the generated Verilog are those that any memory compiler has."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fred_hw.endpoint.endpoint import Endpoint
from gen.design import generate
from gen.emitter import VerilogEmitter
from testbench.cosimulation.cosimulate_switch import cosimulate_switch
from testbench.sim.kept import kept
from tests.testbench.cases import small

SMALL = small(2, form="int8")
TOPS = "switch", "endpoint"

each = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) for name in TOPS]
)

SRAM = """\
ram block $__SRAM_ {
  abits 4;
  width 16;
  cost 1;
  port sw "W" { clock posedge; }
  port sr "R" { clock posedge; rden; }
}
"""
"""A memory of 16 words of 16 bits without initial values, cheaper than flip-flops."""

SCRIPT = """\
import sys
from pyosys import libyosys as yosys
design = yosys.Design()
for command in sys.argv[1:]:
    yosys.run_pass(command, design)
"""
READ = ["read_verilog -sv design.v", "proc", "opt"]

OTHERWISE = {
    "input_port.due": {"RD_PORTS", "RD_EN"},
    "ledger.memory": {"RD_PORTS", "RD_CLK_ENABLE", "RD_EN"},
    "phase_table_fred.generations": {"RD_EN"},
}
"""What small memories have otherwise, see docs/explanation/switch.md."""

SEEN_AT_ONCE = ["due"]
"""Memories of which a word is used that is read while it is written."""


VARIED = [
    "collective_is_delivered_phase_by_phase/kind=(all_reduce|all_to_all)",
    "flows_and_phases_run_at_once/stall=0.3",
    "receiver_that_grants_nothing_holds_up_only_its_flows",
    "phase_is_rewritten_while_others_run",
    "unicasts_share_ports_with_phases",
    "flow_goes_on_after_one_fault/direction=to_switch/kind=lost",
    "flow_goes_on_after_one_fault/direction=from_switch/kind=bit_of_header",
    "flows_go_on_on_faulty_links/share=0.02/delay=0",
    "numbers_wrap",
    "short_packets_share_the_space_flit_by_flit",
    "acks_in_a_burst_are_all_heeded",
    "links_carry_data_at_full_load",
    "entry_that_joins_two_flows_is_refused",
    "counters_agree_with_what_was_sent",
    "dead_neighbour_holds_up_no_others",
    "switch_that_reboots_in_traffic_is_written_anew",
    "handshake_to_an_earlier_session_makes_no_link",
    "phase_in_use_may_be_rewritten/wait=8/command=(write|erase)",
    "phase_that_is_served_goes_by_its_new_entry",
    "packets_in_queues_are_reported_by_phase",
    "source_that_stops_inside_a_packet_holds_up_nobody_else/sent=1",
    "packet_without_its_last_flit_is_sent_again/behind=0",
    "header_that_changes_inside_a_packet_does_no_harm/said=generation",
    "packets_sent_before_the_commit_are_added_to_their_own",
    "all_ports_send_to_all_others_at_a_time",
]
"""Tests that use each memory in all ways: traffic, losses, rewrites and resets.

Of all 98, none reads a word while it is written but that of the registers, in a reset of the
switch; two of these have more resets than the first.
"""
AMONG_THREE = ["dead_neighbour_holds_up_no_others"]


@cache
def verilog_of(name: str) -> str:
    if name == "switch":
        return kept(generate, SMALL, level=name).verilog
    emitter = VerilogEmitter()
    emitter.add(Endpoint(spec=SMALL))
    return emitter.verilog()


def run_yosys(folder: Path, verilog: str, commands: Sequence[str]) -> None:
    (folder / "design.v").write_text(verilog)
    (folder / "sram.txt").write_text(SRAM)
    subprocess.run(
        [sys.executable, "-c", SCRIPT, *READ, *commands],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def cells_of(folder: Path, name: str, *passes: str) -> list[dict[str, Any]]:
    """Return the cells of a design behind some passes, each with its name and its unit."""
    commands = ["memory -nomap", *passes, "write_json cells.json"]
    run_yosys(folder, verilog_of(name), commands)
    modules = json.loads((folder / "cells.json").read_text())["modules"]
    return [
        {"name": f"{re.split(r'_[a-z]*[0-9]', module)[0]}.{label}"} | cell
        for module, found in modules.items()
        for label, cell in found["cells"].items()
    ]


@each
def test_memories_have_no_contents_at_first(name: str) -> None:
    assert "initial" not in verilog_of(name)
    assert len(re.findall(r"^  reg \[.*\] \S+ \[.*\];$", verilog_of(name), re.MULTILINE)) > 3


@each
def test_memories_have_a_write_port_and_a_read_port_with_an_enable(
    name: str, tmp_path: Path
) -> None:
    found = [cell for cell in cells_of(tmp_path, name) if cell["type"] == "$mem_v2"]
    assert len(found) > 3
    for cell in found:
        sizes, ends = cell["parameters"], cell["connections"]
        holds = {
            "WR_PORTS": int(sizes["WR_PORTS"], 2) == 1,
            "WR_EN": len(set(ends["WR_EN"])) == 1,  # of whole words
            "RD_PORTS": int(sizes["RD_PORTS"], 2) == 1,
            "RD_CLK_ENABLE": set(sizes["RD_CLK_ENABLE"]) == {"1"},
            "RD_EN": not set(ends["RD_EN"]) & {"0", "1"},
            "INIT": set(sizes["INIT"]) == {"x"},
        }
        otherwise = {what for what, held in holds.items() if not held}
        assert otherwise == OTHERWISE.get(cell["name"], set()), cell["name"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "left"), [("switch", []), ("endpoint", ["ledger.memory"])])
def test_no_memory_but_the_smallest_is_left_as_flip_flops(
    name: str, left: list[str], tmp_path: Path
) -> None:
    cells = cells_of(tmp_path, name, "memory_libmap -lib sram.txt")
    kept = {
        cell["name"]: int(cell["parameters"]["SIZE"], 2) * int(cell["parameters"]["WIDTH"], 2)
        for cell in cells
        if cell["type"] == "$mem_v2"
    }
    assert list(kept) == left
    assert all(bits < 2048 for bits in kept.values())
    assert sum(cell["type"] == "$__SRAM_" for cell in cells) > 10


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ports", "tests", "least"),
    [
        # All kinds of memories are in the smallest switch.
        (2, [name for name in VARIED if name not in AMONG_THREE], 26),
        pytest.param(3, VARIED, 27, marks=pytest.mark.long),
        pytest.param(4, VARIED, 27, marks=pytest.mark.long),
    ],
)
def test_no_word_is_used_that_was_read_while_it_was_written(
    ports: int, tests: list[str], least: int, tmp_path: Path
) -> None:
    spec = SMALL.with_changes(ports=ports)
    design = kept(generate, spec, level="switch")
    seen = " ".join(f"m:{name} %d" for name in SEEN_AT_ONCE)
    unknown = [f"setattr -set no_rw_check 1 m:* {seen}", "memory -nomap"]
    # Plain registers, as in what is generated, are what Icarus simulates faster.
    plain = ["dffunmap", "opt_clean", "write_verilog -noattr unknown.v"]
    run_yosys(tmp_path, design.verilog, [*unknown, *plain])
    text = (tmp_path / "unknown.v").read_text()
    assert len(re.findall(r"<= \d+'hx+;", text)) >= 4
    run = cosimulate_switch(spec, tmp_path, design=replace(design, verilog=text), tests=tests)
    assert [(test.name, test.message) for test in run.failures] == []
    assert len(run.tests) >= least
    assert run.measurements["flits_checked"] > 300
