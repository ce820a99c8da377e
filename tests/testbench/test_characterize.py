"""Tests of testbench.characterize."""

import json
from pathlib import Path

import pytest

from fred_hw.load import load_spec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.characterize import characterize
from testbench.cosimulation.interconnect import cosimulate

pytestmark = pytest.mark.sim

RECORDS = Path(__file__).parents[2] / "perfmodel" / "switch_timing" / "records"
CYCLES = ("latency_cycles", "throughput_flits_per_cycle", "reconfiguration_cycles")


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["l1-12", "l1-11", "l2-10"])
def test_shipped_record_is_what_is_measured_now(preset: str, tmp_path: Path) -> None:
    """A record is stale when a figure differs.

    Who measured may differ: the commit, the versions of the simulators, and the text of the
    Verilog, which a register or a counter changes while all cycles stay.
    """
    shipped = json.loads((RECORDS / f"{preset}.json").read_text())
    measured = characterize(load_spec(preset), tmp_path, seed=shipped["seed"])
    assert [simulator["name"] for simulator in shipped["simulators"]] == ["icarus"]
    assert shipped["source"].keys() == measured["source"].keys()
    for record in (shipped, measured):
        del record["source"], record["simulators"]
    assert shipped == measured


@pytest.mark.parametrize("lanes", [4, pytest.param(256, marks=pytest.mark.slow)])
def test_cycles_do_not_depend_on_lanes(lanes: int, tmp_path: Path) -> None:
    measured = []
    for count in (1, lanes):
        spec = SwitchSpec(ports=3, lanes=count)
        result = cosimulate(spec, tmp_path / str(count), flits=4, configurations=4)
        assert result.tests and not result.failures
        measured.append({key: result.measurements[key] for key in CYCLES})
    assert measured[0] == measured[1]


def test_cycles_follow_the_pipeline_registers(tmp_path: Path) -> None:
    spec = SwitchSpec(ports=4, lanes=1, format="int8", adder_registers=3, stage_registers=2)
    record = characterize(spec, tmp_path)
    # two reducing stages of 3 + 2 cycles and a distributing one of 2
    assert record["latency_cycles"] == 12
    assert record["throughput_flits_per_cycle"] == 1.0
    assert record["reconfiguration_cycles"] == 0
    whole = record["switch"]
    assert whole["stages"]["interconnect"] == 12
    assert whole["latency_cycles"] == sum(whole["stages"].values()) == 12 + 6


def test_switch_without_the_link_layer_has_a_record_of_its_interconnect(tmp_path: Path) -> None:
    bare = ProtocolSpec(link=False)
    record = characterize(SwitchSpec(ports=2, lanes=1, format="int8", protocol=bare), tmp_path)
    assert record["switch"] is None and record["source"]["switch_verilog_sha256"] is None
