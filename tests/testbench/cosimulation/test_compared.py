"""Netlists in the benches of their Verilog: outputs are equal, or the first difference is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.spec import SwitchSpec
from synth.cell_models import gates_of, mapped_gates
from synth.liberty import read_libraries
from synth.synthesis import Source
from testbench.cosimulation.compared import compare_with_rtl
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.cosimulation.launch import OUTPUTS
from testbench.sim.kept import Written
from testbench.sim.runner import SimulationResult, TestOutcome
from tests.synth.libraries import nangate45

pytestmark = pytest.mark.sim

SPEC = SwitchSpec(ports=2, lanes=1, format="int8")
TEST = "configuration_changes_between_two_flits"


def source(design: Written) -> Source:
    return Source(design.name, design.verilog, "design", {})


def generic(design: Written) -> str:
    return gates_of(source(design))


def mapped(design: Written) -> str:
    return mapped_gates(source(design), read_libraries(nangate45()))


@pytest.mark.slow
@pytest.mark.parametrize("synthesize", [generic, mapped])
def test_outputs_of_a_netlist_are_those_of_its_verilog(
    synthesize: Callable[[Written], str], tmp_path: Path
) -> None:
    found = compare_with_rtl(cosimulate, SPEC, tmp_path, synthesize, tests=[TEST], flits=4)
    assert (found.rtl.failures, found.netlist.failures, found.difference) == ((), (), "")
    assert found.changes > 100


@pytest.mark.slow
def test_one_wrong_cell_is_noticed(tmp_path: Path) -> None:
    def broken(design: Written) -> str:
        return mapped(design).replace("  NAND2_X1 ", "  NOR2_X1 ", 1)

    found = compare_with_rtl(cosimulate, SPEC, tmp_path, broken, tests=[TEST], flits=4)
    assert found.rtl.failures == ()
    assert found.difference and found.netlist.failures


@pytest.mark.parametrize(
    ("record", "difference"),
    [
        ("\n0 o 1\n\n4 o 0\n", ""),
        ("\n0 o 1\n\n4 o 1\n", "two, cycle 4: o is 1, in the RTL 0"),
        ("\n0 o 1\n\n4 o 0\n5 p 1\n", "two, cycle 5: p is 1, in the RTL unchanged"),
        ("\n0 o 1\n\n", "two, cycle 4: o does not become 0, in the RTL 0"),
    ],
)
def test_first_difference_names_test_cycle_and_port(
    record: str, difference: str, tmp_path: Path
) -> None:
    tests = tuple(TestOutcome(name, True, "", 0.0) for name in ("one", "two"))

    def run(_spec: object, work: Path, **options: object) -> SimulationResult:
        work.mkdir()
        text = record if "synthesize" in options else "\n0 o 1\n\n4 o 0\n"
        (work / OUTPUTS).write_text(text)
        return SimulationResult("icarus", "11", 1, tests)

    assert compare_with_rtl(run, SPEC, tmp_path, generic).difference == difference
