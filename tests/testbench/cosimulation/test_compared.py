"""Netlists in the benches of their Verilog: outputs are equal, or the first difference is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.spec import SwitchSpec
from synth.cell_models import gates_of, mapped_gates
from synth.liberty import read_libraries
from synth.synthesis import Source
from testbench.cosimulation.compared import compare_with_rtl
from testbench.cosimulation.interconnect import cosimulate
from testbench.faults.datapath import broken_design, operand_dropped
from testbench.sim.kept import Written
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


def dropping(_: Written) -> str:
    return gates_of(source(broken_design(SPEC, operand_dropped)))


@pytest.mark.slow
@pytest.mark.parametrize("synthesize", [generic, mapped])
def test_outputs_of_a_netlist_are_those_of_its_verilog(
    synthesize: Callable[[Written], str], tmp_path: Path
) -> None:
    found = compare_with_rtl(cosimulate, SPEC, tmp_path, synthesize, tests=[TEST], flits=4)
    assert (found.rtl.failures, found.netlist.failures, found.difference) == ((), (), "")
    assert found.changes > 100


@pytest.mark.slow
def test_first_difference_names_test_cycle_and_port(tmp_path: Path) -> None:
    found = compare_with_rtl(cosimulate, SPEC, tmp_path, dropping, tests=[TEST], flits=4)
    assert found.netlist.failures
    assert found.difference.startswith(f"{TEST}, cycle ")
    assert "o__" in found.difference
