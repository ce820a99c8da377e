"""Tests of the level terminator: names, files, manifest, and what linters find."""

import json
from pathlib import Path

import pytest

from fred_hw.endpoint.flow import flow_layout
from fred_hw.endpoint.terminator import SEND_CYCLES
from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from gen.design import Design, file_names, generate
from gen.level import LEVELS, unit_levels
from testbench.sim.kept import kept
from tests.gen.tools import check_icarus, check_lint

SPEC = load_spec("tiny-2")
MESH = Path(__file__).parents[2] / "examples/mesh-5x4.yaml"


def design() -> Design:
    return kept(generate, SPEC, level="terminator")


def test_files_are_those_that_are_foretold() -> None:
    files = design().files()
    assert list(files) == file_names(SPEC, "terminator")
    endings = {name.removeprefix("terminator_w8_p2_link") for name in files}
    plain = {".v", ".json", ".core", ".xml", ".sdc", ".vlt", "_tb.v"}
    assert endings == plain | {"_pkg.sv", "_wrapper.sv"}


def test_manifest_has_streams_flow_and_replay_memory() -> None:
    manifest = json.loads(design().files()["terminator_w8_p2_link.json"])
    assert SwitchSpec.model_validate(manifest["spec"]) == SPEC
    assert (manifest["level"], manifest["latency_cycles"]) == ("terminator", SEND_CYCLES)
    assert manifest["link_digest"] == SPEC.digest
    assert manifest["flow"] == {
        "generation": [0, 3],
        "peer": [3, 7],
        "phase": [10, 5],
        "unicast_phase": SPEC.protocol.online,
    }
    widths = {port["name"]: port["width"] for port in manifest["ports"]}
    assert widths["s_axis_mp_tdest"] == widths["receive_flow_dp"] == flow_layout(SPEC).size == 15
    assert manifest["replay"]["packets"] == 64


def test_synthesis_knows_the_level_and_it_reads_meshes() -> None:
    assert "terminator" in unit_levels()
    level = LEVELS["terminator"]
    mesh = level.load(str(MESH))
    assert level.name(mesh).startswith("terminator_")
    assert level.registers is None


@pytest.mark.sim
@pytest.mark.slow
def test_simulators_find_nothing(tmp_path: Path) -> None:
    check_lint(design(), tmp_path)
    check_icarus(design(), tmp_path)
