"""Generated Verilog against the golden model, over sizes, formats and operations."""

from pathlib import Path
from typing import Any

import pytest

from fred_hw.compiler.placement import Strategy, phases
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.pruning import prune
from fred_hw.spec import SwitchSpec
from gen.design import generate
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.sim.kept import kept
from tests.testbench.cases import slow_but_first

pytestmark = pytest.mark.sim

EFFORT: dict[str, Any] = {"flits": 8, "configurations": 12}

SPECS: list[dict[str, Any]] = [
    {"ports": 2, "format": "bf16", "lanes": 2},
    {"ports": 3, "format": "fp32", "lanes": 1, "adder_registers": 4},
    {"ports": 4, "format": "int8", "lanes": 3, "adder_registers": 0},
    {"ports": 5, "middle_switches": 2, "format": "int16", "lanes": 1, "overflow": "wrap"},
    {"ports": 6, "middle_switches": 4, "format": "fp16", "lanes": 1, "operation": "max"},
    {"ports": 7, "middle_switches": 3, "format": "int32", "lanes": 1, "stage_registers": 2},
    {"ports": 9, "middle_switches": 2, "format": "bf16", "lanes": 1, "operation": "min"},
    {"ports": 4, "middle_switches": 8, "format": "int8", "lanes": 1, "adder_registers": 8},
    {"ports": 4, "format": "fp8_e4m3", "accumulation": "fp16", "lanes": 2},
    {"ports": 3, "format": "tf32", "accumulation": "fp32", "lanes": 1},
    {"ports": 5, "format": "bf16", "accumulation": "fp32", "lanes": 1, "adder_registers": 1},
]


@slow_but_first({SwitchSpec.model_validate(fields).name: fields for fields in SPECS}, "fields")
def test_regression_passes_in_icarus(fields: dict[str, Any], tmp_path: Path) -> None:
    result = cosimulate(SwitchSpec(**fields), tmp_path, **EFFORT)
    assert [test.name for test in result.failures] == []
    assert result.measurements["throughput_flits_per_cycle"] == 1.0
    assert result.measurements["reconfiguration_cycles"] == 0
    assert result.measurements["flits_checked"] > 500


PRUNED = SwitchSpec(ports=5, format="int8", lanes=1)


def pruned(*strategies: str) -> SwitchSpec:
    """Return the specification of five ports with the phases of some strategies only."""
    needs = {
        f"{text}:{name}": flows
        for text in strategies
        for name, flows in phases(Strategy.parse(text), ports=PRUNED.ports).items()
    }
    return prune(PRUNED, needs, "strategies")


def test_needed_configurations_pass_in_icarus(tmp_path: Path) -> None:
    spec = pruned("MP2-DP2-PP1", "MP1-DP1-PP5")
    result = cosimulate(spec, tmp_path, flits=8)
    assert [test.passed for test in result.tests] == [True, True]
    assert result.measurements["latency_cycles"] == latency_cycles(spec)
    assert result.measurements["flits_checked"] > 100


@pytest.mark.slow
def test_needed_configurations_fail_on_hardware_for_others(tmp_path: Path) -> None:
    design = kept(generate, pruned("MP2-DP2-PP1"))
    result = cosimulate(pruned("MP2-DP2-PP1", "MP1-DP1-PP5"), tmp_path, flits=8, design=design)
    assert [test.passed for test in result.tests] == [False, False]


BASELINES = [
    ("crossbar", {"ports": 5, "format": "fp16", "lanes": 1}),
    ("benes", {"ports": 4, "format": "fp16", "lanes": 1}),
    ("benes", {"ports": 4, "format": "fp8_e5m2", "accumulation": "fp16", "lanes": 1}),
    ("crossbar", {"ports": 3, "format": "fp16", "accumulation": "fp32", "lanes": 1}),
    ("benes", {"ports": 8, "format": "int8", "lanes": 1, "stage_registers": 2}),
]


@slow_but_first({f"{level} of {one['ports']}": (level, one) for level, one in BASELINES}, "case")
def test_baselines_pass_the_regression_of_the_interconnect(
    case: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    level, fields = case
    result = cosimulate(SwitchSpec(**fields), tmp_path, level=level, **EFFORT)
    assert [test.name for test in result.failures] == []
    assert result.measurements["throughput_flits_per_cycle"] == 1.0
    assert result.measurements["reconfiguration_cycles"] == 0
    assert result.measurements["flits_checked"] > 500


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ports", "middle_switches"), [(16, 3), pytest.param(20, 3, marks=pytest.mark.long), (21, 2)]
)
def test_larger_switches_pass_in_icarus(ports: int, middle_switches: int, tmp_path: Path) -> None:
    spec = SwitchSpec(
        ports=ports, middle_switches=middle_switches, format="int8", lanes=1, adder_registers=1
    )
    result = cosimulate(spec, tmp_path, flits=4, configurations=6)
    assert [test.name for test in result.failures] == []


@pytest.mark.slow
def test_both_simulators_measure_the_same(tmp_path: Path) -> None:
    spec = SwitchSpec(ports=5, format="fp16", lanes=1)
    icarus = cosimulate(spec, tmp_path / "icarus", simulator="icarus", seed=7)
    verilator = cosimulate(spec, tmp_path / "verilator", simulator="verilator", seed=7)
    assert not icarus.failures and not verilator.failures
    assert icarus.measurements == verilator.measurements


# Of as many ports as these, others pass above.
AGAIN = {*(fields["ports"] for fields in SPECS), 16}


@pytest.mark.slow
@pytest.mark.parametrize(
    "ports", [pytest.param(n, marks=[pytest.mark.long] if n in AGAIN else []) for n in range(2, 17)]
)
def test_every_size_to_16_delivers(ports: int, tmp_path: Path) -> None:
    middle_switches = (3, 2, 4, 3, 8)[ports % 5] if ports < 9 else (3, 2)[ports % 2]
    spec = SwitchSpec(
        ports=ports, middle_switches=middle_switches, format="int8", lanes=1, adder_registers=0
    )
    result = cosimulate(spec, tmp_path, flits=4, configurations=4)
    assert [test.name for test in result.failures] == []
