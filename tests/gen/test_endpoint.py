"""Tests of gen.design for endpoints: lint, other tools, and what lies beside the Verilog."""

import json
from functools import cache
from pathlib import Path

import pytest

from fred_hw.ace.npu_endpoint import BEGIN_CYCLES
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from gen.design import Design, file_names, generate
from gen.write import write_files
from testbench.sim.kept import kept
from tests.gen.tools import icarus, lint

SPECS = {
    "bytes": SwitchSpec(
        ports=2,
        lanes=1,
        format="int8",
        protocol=ProtocolSpec(phases=1),
        endpoint=EndpointSpec(fsms=1, slots=1, chunk_flits=2, memory_reads=2, replay_packets=2),
    ),
    "odd sizes": SwitchSpec(
        ports=5,
        lanes=2,
        format="bf16",
        protocol=ProtocolSpec(phases=5, packet_flits=3, buffer_packets=17),
        endpoint=EndpointSpec(fsms=3, slots=5, chunk_flits=7, memory_reads=5),
    ),
}
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("endpoints")]  # each is generated once
each = pytest.mark.parametrize("name", ["bytes", "odd sizes"])


@cache
def design_of(name: str) -> Design:
    return kept(generate, SPECS[name], level="endpoint")


@pytest.mark.sim
@each
def test_verilator_finds_nothing_beyond_the_waivers(name: str, tmp_path: Path) -> None:
    design = design_of(name)
    write_files(design.files(), tmp_path)
    files = f"{design.name}.vlt", f"{design.name}.v"
    assert lint(tmp_path, design.name, *files) == (0, "")


@pytest.mark.sim
@each
def test_icarus_accepts_it_as_verilog_2005(name: str, tmp_path: Path) -> None:
    design = design_of(name)
    write_files(design.files(), tmp_path)
    status, said = icarus(tmp_path, "-g2005", "-Wall", f"{design.name}.v")
    assert status == 0, said


def test_files_are_those_that_are_foretold() -> None:
    design = design_of("bytes")
    files = design.files()
    assert list(files) == file_names(SPECS["bytes"], "endpoint")
    assert {name.removeprefix(design.name) for name in files} >= {
        ".v",
        ".json",
        ".sdc",
        ".vlt",
        ".core",
        "_registers.h",
        "_registers.md",
    }


def test_manifest_has_ports_registers_and_replay_memory() -> None:
    design, spec = design_of("bytes"), SPECS["bytes"]
    manifest = json.loads(design.files()[f"{design.name}.json"])
    assert SwitchSpec.model_validate(manifest["spec"]) == spec
    assert (manifest["level"], manifest["latency_cycles"]) == ("endpoint", BEGIN_CYCLES)
    assert manifest["link_digest"] == spec.digest
    widths = {port["name"]: port["width"] for port in manifest["ports"]}
    assert (widths["m_axis_tdata"], widths["m_axis_read_tdata"]) == (8, 40)
    assert manifest["registers"]["COMMAND"]["offset"] == 0x6C
    assert manifest["replay"]["packets"] == 2
