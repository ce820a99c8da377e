"""The regression reports each deliberately broken variant, and each of its tests can fail."""

from functools import cache
from pathlib import Path

import pytest

from fred_hw.spec import SwitchSpec
from testbench.cosimulation.interconnect import cosimulate
from testbench.faults.interconnect import FAULTS, broken_design
from testbench.sim.runner import SimulationResult

pytestmark = pytest.mark.sim

SPEC = SwitchSpec(ports=5, lanes=2, format="int8", adder_registers=1)


@cache
def run(fault: str, folder: Path) -> SimulationResult:
    design = broken_design(SPEC, fault)
    return cosimulate(SPEC, folder / fault, design=design, flits=8, configurations=10)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


def test_sound_hardware_passes(folder: Path) -> None:
    result = cosimulate(SPEC, folder / "sound", flits=8, configurations=10)
    assert result.tests and not result.failures


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported(fault: str, folder: Path) -> None:
    result = run(fault, folder)
    assert result.failures, f"nothing noticed that: {fault}"


def test_every_test_fails_for_some_fault(folder: Path) -> None:
    results = [run(fault, folder) for fault in FAULTS]
    names = {test.name for test in results[0].tests}
    failed = {test.name for result in results for test in result.failures}
    assert failed == names
