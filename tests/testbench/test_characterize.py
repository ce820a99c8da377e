"""Tests of testbench.characterize."""

import json
from pathlib import Path

import pytest

from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from testbench.characterize import characterize
from testbench.cosimulation.interconnect import cosimulate

pytestmark = [pytest.mark.sim, pytest.mark.slow]

RECORDS = Path(__file__).parents[2] / "perfmodel" / "switch_timing" / "records"
CYCLES = ("latency_cycles", "throughput_flits_per_cycle", "reconfiguration_cycles")
MEASURING = (
    "every_path_has_the_same_latency",
    "every_port_carries_a_flit_each_cycle",
    "configuration_changes_between_two_flits",
)
DEEP = SwitchSpec(ports=2, lanes=1, format="int8", adder_registers=3, stage_registers=2)


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


@pytest.mark.parametrize(("lanes", "tests"), [(4, ()), (256, MEASURING)])
def test_cycles_do_not_depend_on_lanes(lanes: int, tests: tuple[str, ...], tmp_path: Path) -> None:
    measured = []
    for count in (1, lanes):
        spec = SwitchSpec(ports=3, lanes=count)
        result = cosimulate(spec, tmp_path / str(count), flits=4, configurations=4, tests=tests)
        assert result.tests and not result.failures
        measured.append({key: result.measurements[key] for key in CYCLES})
    assert measured[0] == measured[1]


# A reducing stage is 3 + 2 cycles, a distributing one 2: one of the first, or two and one.
@pytest.mark.parametrize(("ports", "cycles"), [(2, 5), (4, 12)])
def test_cycles_follow_the_pipeline_registers(ports: int, cycles: int, tmp_path: Path) -> None:
    record = characterize(DEEP.with_changes(ports=ports), tmp_path)
    assert [record[key] for key in CYCLES] == [cycles, 1.0, 0]
    whole = record["switch"]
    assert whole["stages"]["interconnect"] == cycles
    assert whole["latency_cycles"] == sum(whole["stages"].values()) == cycles + 10
