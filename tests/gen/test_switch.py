"""Tests of gen.design for whole switches: lint, other tools, and what lies beside the Verilog."""

import json
import subprocess
from functools import cache
from pathlib import Path

import pytest

from fred_hw.control.phase_entry import phases_that_fit
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.load import load_spec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES
from gen.design import Design, generate
from gen.level import LEVELS
from gen.write import write_files
from testbench.sim.kept import kept
from tests.gen.tools import check_icarus, check_lint
from tests.testbench.cases import FIVE, SINGLE, small

# All but the largest are simulated elsewhere, or linted in test_lint.py: each is generated once.
SPECS = {
    "two ports": SINGLE,
    "four ports": small(),
    "five ports": FIVE,
    "three ports": SwitchSpec(
        ports=3, lanes=1, format="int8", middle_switches=2, protocol=ProtocolSpec(phases=1)
    ),
}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("whole switches")]

each = pytest.mark.parametrize(
    "name",
    [
        "two ports",
        "four ports",
        pytest.param("five ports", marks=pytest.mark.long),  # as four and twelve are
        pytest.param("three ports", marks=pytest.mark.long),
    ],
)


@cache
def design_of(name: str) -> Design:
    return kept(generate, SPECS[name], level="switch")


def run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.sim
@pytest.mark.parametrize(
    "name", ["two ports", "four ports", pytest.param("five ports", marks=pytest.mark.long)]
)
def test_verilator_finds_nothing_beyond_the_waivers(name: str, tmp_path: Path) -> None:
    check_lint(design_of(name), tmp_path)


@pytest.mark.sim
@each
def test_icarus_accepts_it_as_verilog_2005(name: str, tmp_path: Path) -> None:
    check_icarus(design_of(name), tmp_path)


@each
def test_yosys_accepts_it(name: str, tmp_path: Path) -> None:
    from pyosys import libyosys as yosys  # pyright: ignore[reportAttributeAccessIssue]

    design = design_of(name)
    write_files(design.files(), tmp_path)
    circuit = yosys.Design()
    for command in (
        f"tee -q read_verilog {tmp_path / design.name}.v",
        f"tee -q hierarchy -check -top {design.name}",
        "tee -q proc",
        f"tee -q -o {tmp_path / 'check.txt'} check -assert",
    ):
        yosys.run_pass(command, circuit)
    assert "found and reported 0 problems" in (tmp_path / "check.txt").read_text().lower()


@each
def test_each_module_is_written_once(name: str) -> None:
    design = design_of(name)
    heads = [line.split("(")[0] for line in design.verilog.splitlines() if line[:7] == "module "]
    assert sorted(heads) == sorted(f"module {module}" for module in design.modules)
    assert design.modules[f"input_port_{_ports(name)}"] == SPECS[name].ports


def _ports(name: str) -> str:
    spec = SPECS[name]
    return f"w{spec.data_width}_p{spec.ports}_{spec.protocol.suffix}"


@pytest.mark.parametrize(
    "name", ["two ports", *(pytest.param(name, marks=pytest.mark.long) for name in list(SPECS)[1:])]
)
def test_text_depends_on_the_specification_alone(name: str) -> None:
    assert generate(SPECS[name], level="switch").files() == design_of(name).files()


@each
def test_manifest_places_every_field(name: str) -> None:
    design, spec = design_of(name), SPECS[name]
    manifest = json.loads(design.files()[f"{design.name}.json"])
    assert SwitchSpec.model_validate(manifest["spec"]) == spec
    assert manifest["level"] == "switch"
    fit = {"entries": spec.protocol.phases, "in_1536_bytes": phases_that_fit(spec)}
    assert manifest["phases"] == fit
    protocol = spec.protocol
    rate = protocol.acked_rate(spec.ports, protocol.ack_interval)
    acks = {"interval": protocol.ack_interval, "flits_per_cycle": round(rate, 3)}
    assert manifest["acks"] == acks
    assert manifest["link_digest"] == spec.digest
    assert manifest["latency_cycles"] == latency_cycles(spec) + ADDED_CYCLES
    widths = {port["name"]: port["width"] for port in manifest["ports"]}
    user = manifest["streams"]["tuser"]
    assert widths["s0_axis_tuser"] == max(low + width for low, width in user.values())
    assert list(user) == [*spec.protocol.fields, "crc"]
    entry = manifest["entry"]
    assert entry["inputs"][0] == entry["configuration"][1] == manifest["configuration"]["width"]
    assert manifest["registers"]["ENTRY"]["words"] == -(-sum(entry["used"]) // 32)


def test_header_has_the_offsets_of_the_manifest() -> None:
    design = design_of("two ports")
    files = design.files()
    offset = design.manifest["registers"]["COMMAND"]["offset"]
    [header] = [text for name, text in files.items() if name.endswith("_registers.h")]
    prefix = design.name.replace("_switch", "").upper()
    assert f"#define {prefix}_COMMAND_OFFSET UINT32_C({offset:#05x})\n" in header


def test_whole_switch_and_interconnect_have_names_of_their_own() -> None:
    spec = SPECS["two ports"]
    whole, inner = design_of("two ports"), generate(spec)
    assert not set(whole.files()) & set(inner.files())
    assert set(inner.modules) < set(whole.modules)


def test_unknown_level_is_refused() -> None:
    levels = ", ".join(LEVELS)
    with pytest.raises(ValueError, match=f"^level must be one of {levels}, not 'plane'$"):
        generate(SPECS["two ports"], level="plane")
    with pytest.raises(TypeError, match=r"^spec of level wafer must be a WaferSpec, not Switch"):
        generate(SPECS["two ports"], level="wafer")


def test_largest_chiplet_holds_the_phases_of_the_published_memory() -> None:
    assert phases_that_fit(load_spec("l1-12", {"protocol.phases": 28})) == 28


def test_interconnect_does_not_depend_on_the_protocol() -> None:
    spec = SPECS["two ports"]
    changed = spec.with_changes(protocol=ProtocolSpec(phases=3).model_dump())
    assert generate(changed).files() == generate(spec).files()
