"""The interconnect's regression reports each fault, and each of its tests can fail."""

from functools import cache
from pathlib import Path

import pytest

from fred_hw.spec import SwitchSpec
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.faults.fault import Fault, noticed_by
from testbench.sim.runner import SimulationResult

pytestmark = [pytest.mark.sim, pytest.mark.slow]

FAULTS = noticed_by("interconnect")

SPEC = SwitchSpec(ports=5, lanes=2, format="int8", adder_registers=1)


@cache
def run(fault: Fault | None, folder: Path) -> SimulationResult:
    place = folder / (fault.__name__ if fault else "sound")
    return cosimulate(SPEC, place, faults=FAULTS, fault=fault, flits=8, configurations=10)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


def test_sound_hardware_passes(folder: Path) -> None:
    result = run(None, folder)
    assert result.tests and not result.failures


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported(fault: Fault, folder: Path) -> None:
    assert run(fault, folder).failures, f"nothing noticed that: {fault.disturb.__doc__}"


def test_every_test_fails_for_some_fault(folder: Path) -> None:
    results = [run(fault, folder) for fault in FAULTS]
    names = {test.name for test in results[0].tests}
    failed = {test.name for result in results for test in result.failures}
    assert failed == names
