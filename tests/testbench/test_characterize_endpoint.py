"""Tests of testbench.characterize_endpoint."""

import json
from pathlib import Path

import pytest

from fred_hw.load import load_spec
from perfmodel.switch_timing.endpoint import EndpointRecord
from perfmodel.switch_timing.record import RECORDS
from testbench.characterize_endpoint import EndpointMeasurement
from testbench.sim.tools import SimulatorError
from tests.testbench.records import what_was_measured

SPEC = load_spec("l1-12")


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.long  # the same Verilog in the same bench gives the same figures
def test_shipped_record_is_what_is_measured_now(tmp_path: Path) -> None:
    shipped = json.loads((RECORDS / "endpoint.json").read_text())
    measured = EndpointMeasurement(spec=SPEC, seed=shipped["seed"]).record(tmp_path)
    assert what_was_measured(EndpointRecord, shipped) == what_was_measured(EndpointRecord, measured)


def test_other_simulators_are_refused() -> None:
    with pytest.raises(SimulatorError, match=r"^must be icarus for an endpoint, not "):
        EndpointMeasurement(spec=SPEC, simulators=("verilator",))
