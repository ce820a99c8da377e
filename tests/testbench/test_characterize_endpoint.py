"""Tests of testbench.characterize_endpoint."""

import json
import re
from pathlib import Path

import pytest

from fred_hw.load import load_spec
from perfmodel.switch_timing.endpoint import EndpointRecord
from perfmodel.switch_timing.record import RECORDS
from testbench.characterize_endpoint import characterize_endpoint, endpoint_hash
from testbench.sim.tools import SimulatorError
from tests.testbench.records import what_was_measured

SPEC = load_spec("l1-12")


@pytest.mark.sim
@pytest.mark.slow
def test_shipped_record_is_of_the_verilog_of_today() -> None:
    """`make records` mends it: the same Verilog in the same bench gives the same figures."""
    source = json.loads((RECORDS / "endpoint.json").read_text())["source"]
    assert source["verilog_sha256"] == endpoint_hash(SPEC.with_changes(lanes=1))
    assert re.fullmatch("[0-9a-f]{40}", source["git_commit"]), "measured on what is no commit"


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.long  # the same Verilog in the same bench gives the same figures
def test_shipped_record_is_what_is_measured_now(tmp_path: Path) -> None:
    shipped = json.loads((RECORDS / "endpoint.json").read_text())
    measured = characterize_endpoint(SPEC, tmp_path, seed=shipped["seed"])
    assert what_was_measured(EndpointRecord, shipped) == what_was_measured(EndpointRecord, measured)


def test_other_simulators_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match=r"^simulator must be icarus for an endpoint, not "):
        characterize_endpoint(SPEC, tmp_path, simulators=("verilator",))
