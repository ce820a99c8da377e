"""The control unit in co-simulation, and broken ones that its bench must notice."""

import subprocess
from pathlib import Path

import pytest

from fred_hw.control.unit import ControlUnit
from fred_hw.load import load_spec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from gen.companions.vlt import lint_waivers
from gen.emitter import VerilogEmitter
from testbench.cosimulation.control import cosimulate_control
from testbench.faults.fault import Fault, noticed_by
from testbench.sim.tools import icarus_bin, verilator_bin
from tests.testbench.cases import slow_but_first

pytestmark = pytest.mark.sim

FAULTS = noticed_by("control")

SPEC = SwitchSpec(ports=4, lanes=2)
CASES = {
    "two ports, five phases": SwitchSpec(ports=2, lanes=1, protocol=ProtocolSpec(phases=5)),
    "four ports": SPEC,
    "seven ports, two phases": SwitchSpec(ports=7, lanes=4, protocol=ProtocolSpec(phases=2)),
    "l1-12, without link": load_spec("l1-12").with_changes(protocol=ProtocolSpec(link=False)),
}


@pytest.mark.slow
@pytest.mark.parametrize("spec", CASES.values(), ids=CASES)
def test_control_unit_passes_its_regression(spec: SwitchSpec, tmp_path: Path) -> None:
    run = cosimulate_control(spec, tmp_path)
    assert run.failures == ()
    assert len(run.tests) >= 32


def test_errors_and_reset_reach_the_registers(tmp_path: Path) -> None:
    tests = ["each_error_has_its_bit_and_its_interrupt", "reset_forgets_what_is_under_way"]
    run = cosimulate_control(CASES["two ports, five phases"], tmp_path, tests=tests)
    assert [test.name for test in run.tests if test.passed] == tests


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("seed", [2, 3])
def test_both_simulators_pass(simulator: str, seed: int, tmp_path: Path) -> None:
    run = cosimulate_control(SPEC, tmp_path, simulator=simulator, seed=seed)
    assert run.failures == ()


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "test"), FAULTS.items())
def test_fault_is_noticed(fault: Fault, test: str, tmp_path: Path) -> None:
    run = cosimulate_control(SPEC, tmp_path, tests=[test], faults=FAULTS, fault=fault)
    assert {outcome.name.partition("/")[0] for outcome in run.failures} == {test}


UNITS = {
    "one phase": SwitchSpec(ports=2, lanes=1, protocol=ProtocolSpec(phases=1)),
    "four ports": SPEC,
    "l1-12": load_spec("l1-12"),
}


def written(spec: SwitchSpec, folder: Path) -> tuple[Path, str]:
    """Write the Verilog of a control unit; return its file and its name."""
    unit, emitter = ControlUnit(spec=spec), VerilogEmitter()
    emitter.add(unit)
    path = folder / f"{unit.unit_name}.v"
    path.write_text(emitter.verilog())
    return path, unit.unit_name


@slow_but_first(UNITS)
def test_verilator_finds_nothing(spec: SwitchSpec, tmp_path: Path) -> None:
    path, name = written(spec, tmp_path)
    waivers = tmp_path / "waivers.vlt"
    waivers.write_text(lint_waivers(name))
    folder = verilator_bin()
    assert folder is not None
    command = [str(folder / "verilator"), "--lint-only", "-Wall", "--top-module", name]
    said = subprocess.run(
        [*command, str(waivers), str(path)], capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stderr) == (0, "")


@slow_but_first(UNITS)
def test_icarus_reads_it(spec: SwitchSpec, tmp_path: Path) -> None:
    path, _ = written(spec, tmp_path)
    folder = icarus_bin()
    assert folder is not None
    said = subprocess.run(
        [str(folder / "iverilog"), "-t", "null", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, "")
