"""The paths of path_tracer and crossbar_paths are those of the network, whatever the word."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fred_hw.datapath.network import network as made
from fred_hw.spec import SwitchSpec
from fred_hw.switch.network_paths import tracer
from fred_hw.switch.path_tracer import PathTracer
from gen.emitter import VerilogEmitter
from tests.fred_hw.simulation import trace

WIRES = """\
(* techmap_celltype = "$dff $sdff" *)
module wire_ (CLK, SRST, D, Q);
  parameter WIDTH = 1;
  parameter CLK_POLARITY = 1;
  parameter SRST_POLARITY = 1;
  parameter [WIDTH-1:0] SRST_VALUE = 0;
  input CLK, SRST;
  input [WIDTH-1:0] D;
  output [WIDTH-1:0] Q;
  assign Q = D;
endmodule
"""
"""What a register is in a pipeline of which the inputs stay as they are."""

SCRIPT = """\
import sys
from pyosys import libyosys as yosys
design = yosys.Design()
for command in sys.argv[1:]:
    yosys.run_pass(command, design)
"""


def differences(spec: SwitchSpec) -> str:
    """Return Verilog whose outputs are high where tracer and network differ.

    Input k sends 2^k, so a sum tells what it is of. Each input is looked for by a tracer.
    """
    ports, width, emitter = range(spec.ports), spec.data_width, VerilogEmitter()
    network, paths = made(spec), tracer(spec)
    emitter.add(network)
    emitter.add(paths)
    ends = [f".i__{k}__valid(s[{k}]), .i__{k}__data({1 << k})" for k in ports]
    ends += [f".o__{k}__valid(v[{k}]), .o__{k}__data(d[{k * width} +: {width}])" for k in ports]
    some = f"[{spec.ports - 1}:0]"
    lines = [
        f"module top (clk, c, s, differs); input clk; input {some} s; output differs;",
        f"  input [{len(network.configuration) - 1}:0] c;",
        f"  wire [{spec.ports * width - 1}:0] d; wire {some} v, differ;",
        f"  {network.unit_name} network (.clk(clk), .rst(1'b0), .configuration(c),",
        f"    {', '.join(ends)});",
    ]
    for k in ports:
        sums = f"{{{', '.join(f'd[{j * width + k}]' for j in reversed(ports))}}}"
        lines += [
            f"  wire {some} gets{k}, reached{k};",
            f"  {paths.unit_name} tracer{k} (.configuration(c), .sends(s), .marks({1 << k}),",
            f"    .gets(gets{k}), .reached(reached{k}));",
            f"  assign differ[{k}] = gets{k} != v || (v & reached{k}) != (v & {sums});",
        ]
    return emitter.verilog() + "\n".join([*lines, "  assign differs = |differ;", "endmodule\n"])


def test_throughput_is_a_word_in_every_cycle_without_latency() -> None:
    # Of input 1 alone, of both, of none: output 0 and, in the higher bits, output 1. Beside a
    # reduction input 1 goes nowhere alone.
    words, both = [0b0010, 0b1110, 0b1100, 0b0000], {"sends": 0b11, "marks": 0b01}
    cycles = [both | {"configuration": word} for word in words]
    cycles.append(both | {"configuration": 0b1110, "sends": 0b01})
    found = trace(PathTracer(ports=2, middle_switches=2), cycles, ["gets", "reached"])
    assert found[:4] == [(1, 0), (2, 2), (2, 2), (0, 0)]
    assert found[4][0] == 0


@pytest.mark.parametrize(
    ("parameters", "kind", "text"),
    [
        (
            {"ports": 1, "middle_switches": 2},
            ValueError,
            "PathTracer ports must be 2 or more, not 1",
        ),
        (
            {"ports": 4, "middle_switches": 1},
            ValueError,
            "PathTracer middle_switches must be 2 or more, not 1",
        ),
        (
            {"ports": 4, "middle_switches": True},
            TypeError,
            "PathTracer middle_switches must be an integer, not True",
        ),
    ],
)
def test_wrong_parameters_are_refused(
    parameters: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=f"^{text}$"):
        PathTracer(**parameters)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("ports", "middle_switches", "network"),
    [
        (2, 3, "fred"),
        (3, 2, "fred"),
        (4, 2, "fred"),
        (4, 3, "fred"),
        (5, 2, "fred"),
        pytest.param(6, 3, "fred", marks=pytest.mark.slow),
        (2, 3, "crossbar"),
        (3, 3, "crossbar"),
        (5, 3, "crossbar"),
    ],
)
def test_every_word_leads_as_in_the_network(
    ports: int, middle_switches: int, network: str, tmp_path: Path
) -> None:
    spec = SwitchSpec(
        ports=ports,
        middle_switches=middle_switches,
        network=network,
        lanes=1,
        format="int8",
        overflow="wrap",
        adder_registers=0,
    )
    (tmp_path / "both.v").write_text(differences(spec))
    (tmp_path / "wires.v").write_text(WIRES)
    passes = ["read_verilog -sv both.v", "hierarchy -top top", "proc", "flatten"]
    passes += ["techmap -map wires.v", "opt -full", "tee -o said sat -verify -prove differs 0 top"]
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT, *passes], cwd=tmp_path, capture_output=True, check=False
    )
    assert said.returncode == 0, said.stdout[-2000:]
    assert "SAT proof finished - no model found: SUCCESS!" in (tmp_path / "said").read_text()
