"""The control unit in co-simulation, and broken ones that its bench must notice."""

from pathlib import Path

import pytest

from fred_hw.load import load_spec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.cosimulation.control import cosimulate_control
from testbench.faults.fault import Fault, noticed_by

pytestmark = pytest.mark.sim

FAULTS = noticed_by("control")

SPEC = SwitchSpec(ports=4, lanes=2)
CASES = {
    "two ports, five phases": SwitchSpec(ports=2, lanes=1, protocol=ProtocolSpec(phases=5)),
    "seven ports, two phases": SwitchSpec(ports=7, lanes=4, protocol=ProtocolSpec(phases=2)),
    "l1-12": load_spec("l1-12"),
}


@pytest.mark.slow
@pytest.mark.long  # compiled it passes below, and in Icarus the tests that notice faults
@pytest.mark.parametrize("spec", CASES.values(), ids=CASES.keys())
def test_control_unit_passes_its_regression(spec: SwitchSpec, tmp_path: Path) -> None:
    run = cosimulate_control(spec, tmp_path)
    assert run.failures == ()
    assert len(run.tests) >= 32


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulator", "seed"),
    # Icarus passes at the sizes above.
    [pytest.param("icarus", 2, marks=pytest.mark.long), ("verilator", 3)],
)
def test_both_simulators_pass(simulator: str, seed: int, tmp_path: Path) -> None:
    run = cosimulate_control(SPEC, tmp_path, simulator=simulator, seed=seed)
    assert run.failures == ()
    assert len(run.tests) >= 32


@pytest.mark.slow
def test_a_sound_one_passes_what_notices_faults(tmp_path: Path) -> None:
    run = cosimulate_control(SPEC, tmp_path, tests=sorted({*FAULTS.values()}), faults=FAULTS)
    assert run.failures == ()
    assert {test.name.partition("/")[0] for test in run.tests} == {*FAULTS.values()}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "test"), FAULTS.items())
def test_fault_is_noticed(fault: Fault, test: str, tmp_path: Path) -> None:
    run = cosimulate_control(SPEC, tmp_path, tests=[test], faults=FAULTS, fault=fault)
    assert {outcome.name.partition("/")[0] for outcome in run.failures} == {test}
