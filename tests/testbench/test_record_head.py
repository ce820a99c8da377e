"""Tests of testbench.record_head; those of each record hold what was measured."""

import json

import pytest

from fred_hw.load import load_spec
from perfmodel.switch_timing.record import RECORDS
from testbench.record_head import fewer_lanes, measurement, record_head


@pytest.mark.sim
def test_a_record_begins_as_those_that_are_shipped() -> None:
    """And in their order: `make records` changes nothing that is not new."""
    said = json.loads((RECORDS / "l1-12.json").read_text("utf-8"))
    spec = load_spec("l1-12")
    hashes = {name: said["source"][name] for name in ("verilog_sha256", "switch_verilog_sha256")}
    head = record_head(said["schema"], spec, fewer_lanes(spec), ["icarus"], 1, **hashes)
    assert list(head) == list(said)[: len(head)]
    assert head["name"] == said["name"]
    assert list(head["source"]) == list(said["source"])


def test_a_few_lanes_stand_for_all() -> None:
    spec = load_spec("l1-12")
    assert fewer_lanes(spec).lanes == 1
    assert fewer_lanes(spec, 4) == spec.with_changes(lanes=4)


def test_a_simulator_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^simulator must be one of .*, not 'none'$"):
        measurement(["none"], 1)
