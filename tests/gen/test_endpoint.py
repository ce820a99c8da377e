"""Tests of gen.design for endpoints: lint, other tools, and what lies beside the Verilog."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from fred_hw.ace.npu_endpoint import BEGIN_CYCLES
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.files import validate
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from gen.design import Design, file_names, generate
from testbench.designs import endpoint_design
from testbench.sim.kept import kept
from tests.gen.tools import check_icarus, check_lint
from tests.records import shipped

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
    "two ports": SwitchSpec(
        ports=2,
        lanes=1,
        format="int8",
        protocol=ProtocolSpec(phases=1),
        endpoint=EndpointSpec(fsms=2, slots=3, chunk_flits=4, memory_reads=3, read_ports=2),
    ),
    "schedule table": SwitchSpec(
        ports=2,
        lanes=1,
        format="int8",
        protocol=ProtocolSpec(phases=1),
        endpoint=EndpointSpec(
            fsms=1, slots=2, chunk_flits=4, memory_reads=3, read_ports=2, schedule_entries=5
        ),
    ),
}
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("endpoints")]  # each is generated once
each = pytest.mark.parametrize("name", list(SPECS))


@cache
def design_of(name: str) -> Design:
    return kept(generate, SPECS[name], level="endpoint")


@pytest.mark.sim
@each
def test_verilator_finds_nothing_beyond_the_waivers(name: str, tmp_path: Path) -> None:
    check_lint(design_of(name), tmp_path)


@pytest.mark.sim
@each
def test_icarus_accepts_it_as_verilog_2005(name: str, tmp_path: Path) -> None:
    check_icarus(design_of(name), tmp_path)


def test_endpoint_without_a_schedule_table_is_the_one_that_was_measured() -> None:
    """The record is of the Verilog before there were tables; a key of 0 entries changes nothing."""
    record = shipped("endpoint")
    spec = validate(SwitchSpec, record["measured_spec"], "endpoint")
    without = spec.with_changes(endpoint={**dict(spec.endpoint), "schedule_entries": 0})
    assert without == spec
    assert endpoint_design(without).sha256 == record["source"]["verilog_sha256"]
    with_table = {**dict(spec.endpoint), "schedule_entries": 2}
    assert spec.with_changes(endpoint=with_table).endpoint.suffix.endswith("_e2")


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


def test_second_port_to_read_is_in_manifest_header_and_page() -> None:
    """One port has no wires of another, and its files do not say how many there are."""
    one, two = design_of("bytes").files(), design_of("two ports").files()
    ports = {
        name: port["width"]
        for files in (one, two)
        for port in json.loads(files[next(n for n in files if n.endswith(".json"))])["ports"]
        if "_operand_" in (name := port["name"])
    }
    assert ports == {
        "m_axis_operand_read_tvalid": 1,
        "m_axis_operand_read_tready": 1,
        "m_axis_operand_read_tdata": 40,
        "s_axis_operand_data_tvalid": 1,
        "s_axis_operand_data_tready": 1,
        "s_axis_operand_data_tdata": 8,
    }
    texts = [{name.rpartition("ace")[2]: text for name, text in f.items()} for f in (one, two)]
    code = [re.sub(r"//.*", "", text) for text in texts[0].values()]  # comments are of the unit
    assert not any("operand_read_t" in text or "read_ports" in text for text in code)
    name = design_of("two ports").name
    assert "of both ports together" in two[f"{name}_registers.md"]
    assert name.endswith("_p2") and "_R3_P2_REGISTERS_H" in two[f"{name}_registers.h"]
