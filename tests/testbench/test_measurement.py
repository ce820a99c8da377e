"""Tests of testbench.measurement; those of each record hold what was measured."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from perfmodel.switch_timing.record import RECORDS, TimingRecord
from testbench.designs import MeasuredDesign, interconnect_design
from testbench.measurement import Say, SpecMeasurement, fewer_lanes, provenance
from testbench.sim.tools import SimulatorError

SMALL = SwitchSpec(ports=2, lanes=4)


@dataclass(frozen=True, kw_only=True)
class Made(SpecMeasurement[SwitchSpec]):
    """A measurement whose figures are made up."""

    SCHEMA = "made/1"

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {"verilog_sha256": interconnect_design(self.measured_spec)}

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        say("one of one")
        return {"latency_cycles": 7}


@pytest.mark.sim
def test_a_record_is_a_head_and_figures(tmp_path: Path) -> None:
    """In the order of those that are shipped, which lack day and minutes if they are older."""
    lines: list[str] = []
    record = Made(spec=SMALL, seed=3).record(tmp_path, lines.append)
    shipped = json.loads((RECORDS / "l1-12.json").read_text("utf-8"))
    own = [key for key in record if key in shipped]
    assert own == [key for key in shipped if key in own] and own[-1] == "latency_cycles"
    assert record["schema"] == "made/1" and record["name"] == SMALL.name
    assert record["measured_spec"]["lanes"] == 1 and record["seed"] == 3
    assert [one["name"] for one in record["simulators"]] == ["icarus"]
    assert record["source"]["verilog_sha256"] == interconnect_design(fewer_lanes(SMALL)).sha256
    assert record["minutes"] >= 0 and len(record["date"]) == 10
    assert lines == ["one of one"]


def test_other_inputs_are_named_by_their_keys() -> None:
    shipped = json.loads((RECORDS / "l1-12.json").read_text("utf-8"))
    record, spec = TimingRecord.model_validate(shipped), load_spec("l1-12")
    same = Made(spec=spec)
    assert list(same.other_inputs(record)) == []
    other = Made(spec=spec.with_changes(format="bf16", middle_switches=4), seed=2)
    assert list(other.other_inputs(record)) == [
        "spec: middle, format",
        "measured_spec: middle, format",
        "seed",
    ]


def test_a_few_lanes_stand_for_all() -> None:
    spec = load_spec("l1-12")
    assert fewer_lanes(spec).lanes == 1
    assert fewer_lanes(spec, 4) == spec.with_changes(lanes=4)


def test_a_simulator_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^simulator must be one of .*, not 'none'$"):
        provenance(["none"], 1, 0)


def test_seeds_are_checked_before_anything_is_done() -> None:
    with pytest.raises(ValueError, match=r"^seed must be 1 or more, not 0$"):
        Made(spec=SMALL, seed=0)


def test_without_a_simulator_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Iterator[str]:
        raise SimulatorError(f"{name} must be installed")

    monkeypatch.setattr("testbench.measurement.find_simulator", missing)
    lines: list[str] = []
    with pytest.raises(SimulatorError):
        Made(spec=SMALL).record(tmp_path, lines.append)
    assert lines == [] and Made(spec=SMALL).tools() == {}
