"""Tests of gen.companions.sdc: the text, and what OpenSTA reads in it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fred_hw.load import load_spec
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.router import MeshRouter
from fred_hw.mesh.spec import MeshSpec
from gen.clock import CLOCK_NS
from gen.companions.sdc import timing_constraints
from gen.design import generate
from gen.level import LEVELS
from gen.ports import Port, bit_range, module_ports
from tests.synth.tiny import tiny_liberty

PORTS: list[Port] = [
    ("clk", "input", 1),
    ("rst", "input", 1),
    ("session_id", "input", 8),
    ("i", "input", 4),
    ("o", "output", 1),
]


def test_constraints_are_those_of_the_clock_and_of_a_fifth_of_it_at_ports() -> None:
    design = generate(load_spec("tiny-2"))
    text = design.files()[f"{design.name}.sdc"]
    assert text == timing_constraints(design.name, design.ports)
    assert text.startswith(f"# Timing constraints of {design.name}.\n")
    assert f"set period {CLOCK_NS:.4f} }}\n" in text and "set period 0.8533 }\n" in text
    commands = [line for line in text.splitlines() if re.match("create|set_", line)]
    assert commands == [
        "create_clock -name clk -period $period [get_ports clk]",
        "set_clock_uncertainty $clock_uncertainty [get_clocks clk]",
        "set_input_delay [expr $input_delay * $period] -clock clk [get_ports {",
        "set_output_delay [expr $output_delay * $period] -clock clk [all_outputs]",
    ]


def test_clock_and_static_inputs_have_no_input_delay() -> None:
    text = timing_constraints("top", PORTS)
    assert "[get_ports {\n    rst\n    i\n}]" in text
    assert text.endswith("set_false_path -from [get_ports {session_id}]\n")
    assert "set_false_path" not in timing_constraints("top", PORTS[:2])


def test_position_of_a_router_is_static() -> None:
    router = MeshRouter(mesh=MeshSpec(width=2, height=2, lanes=1), directions=DIRECTIONS)
    text = timing_constraints("router", module_ports(router))
    assert text.endswith("set_false_path -from [get_ports {position session_id}]\n")


def test_clock_of_the_specification_is_that_of_the_constraints() -> None:
    design = generate(load_spec("tiny-2", {"clock_ns": 1.25}))
    text = design.files()[f"{design.name}.sdc"]
    assert "# Clock: 0.800000 GHz, clock_ns of the specification.\n" in text
    assert "{ set period 1.2500 }\n" in text


def test_braces_and_brackets_are_balanced_for_tcl() -> None:
    text = timing_constraints("top", PORTS)
    for opening, closing in ("{}", "[]"):
        assert text.count(opening) == text.count(closing) > 0


@pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA is not installed")
@pytest.mark.parametrize("level", ["interconnect", "switch", "terminator"])
def test_opensta_reads_constraints_with_values_of_a_script(level: str, tmp_path: Path) -> None:
    spec, kind = load_spec("tiny-2"), LEVELS[level]
    name, ports = kind.name(spec), module_ports(kind.top(spec))  # pyright: ignore[reportAttributeAccessIssue]
    lines = [f"module {name}({', '.join(port for port, _, _ in ports)});"]
    lines += [f"  {direction} {bit_range(bits)}{port};" for port, direction, bits in ports]
    (tmp_path / "top.v").write_text("\n".join([*lines, "endmodule", ""]))
    (tmp_path / "top.sdc").write_text(timing_constraints(name, ports))
    (tmp_path / "tiny.lib").write_text(tiny_liberty())
    script = f"""
read_liberty tiny.lib
read_verilog top.v
link_design {name}
set clock_uncertainty 0.05
set input_delay 0.3
source top.sdc
write_sdc read.sdc
"""
    (tmp_path / "read.tcl").write_text(script)
    words = ["sta", "-no_splash", "-exit", "read.tcl"]
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not re.search(r"error|warning", said.stdout + said.stderr, re.IGNORECASE), said.stdout
    read = (tmp_path / "read.sdc").read_text()
    assert "set_clock_uncertainty 0.0500 clk" in read
    delays = re.findall(r"set_input_delay ([\d.]+) .*\[get_ports \{(\w+)", read)
    assert {port for _, port in delays} == {
        port
        for port, direction, _ in ports
        if direction == "input" and port not in ("clk", "session_id", "address")
    }
    assert {value for value, _ in delays} == {f"{0.3 * CLOCK_NS:.4f}"}
    assert ("set_false_path" in read) == (level != "interconnect")
