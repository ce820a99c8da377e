"""Tests of testbench.characterize."""

import json
from pathlib import Path

import pytest

from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from perfmodel.switch_timing.record import TimingRecord
from testbench.characterize import SwitchMeasurement
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from tests.testbench.cases import DEEP, assert_deep
from tests.testbench.records import what_was_measured

pytestmark = [pytest.mark.sim, pytest.mark.slow]

RECORDS = Path(__file__).parents[2] / "perfmodel" / "switch_timing" / "records"
CYCLES = ("latency_cycles", "throughput_flits_per_cycle", "reconfiguration_cycles")
MEASURING = (
    "every_path_has_the_same_latency",
    "every_port_carries_a_flit_each_cycle",
    "configuration_changes_between_two_flits",
)


@pytest.mark.long
@pytest.mark.parametrize("preset", ["l2-10"])
def test_shipped_record_is_what_is_measured_now(preset: str, tmp_path: Path) -> None:
    """A change of the benches that moved figures would move those of this switch.

    It would move those of smaller ones too, which are pinned below. Who measured may differ: the
    commit and the versions of the simulators.
    """
    shipped = json.loads((RECORDS / f"{preset}.json").read_text())
    measured = SwitchMeasurement(spec=load_spec(preset), seed=shipped["seed"]).record(tmp_path)
    assert [simulator["name"] for simulator in shipped["simulators"]] == ["icarus"]
    assert shipped["source"].keys() == measured["source"].keys()
    assert what_was_measured(TimingRecord, shipped) == what_was_measured(TimingRecord, measured)


@pytest.mark.parametrize(
    ("lanes", "tests"), [(4, ()), pytest.param(256, MEASURING, marks=pytest.mark.long)]
)
def test_cycles_do_not_depend_on_lanes(lanes: int, tests: tuple[str, ...], tmp_path: Path) -> None:
    measured = []
    for count in (1, lanes):
        spec = SwitchSpec(ports=3, lanes=count)
        result = cosimulate(spec, tmp_path / str(count), flits=4, configurations=4, tests=tests)
        assert result.tests and not result.failures
        measured.append({key: result.measurements[key] for key in CYCLES})
    assert measured[0] == measured[1]


@pytest.mark.long
@pytest.mark.parametrize("ports", [3, 4])
def test_figures_are_those_of_the_pipeline_and_of_benches_before(
    ports: int, tmp_path: Path
) -> None:
    # Those of two ports are measured in tests/fred_cli/commands/test_characterize.py.
    assert_deep(SwitchMeasurement(spec=DEEP.with_changes(ports=ports)).record(tmp_path))
