"""The switch core in co-simulation, and faults that its bench must notice."""

from pathlib import Path

import pytest

from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import added_cycles
from testbench.cosimulation.core import cosimulate_core
from testbench.faults.fault import Fault
from testbench.faults.switch import AlwaysRoom, AnyEntry, FlitEarly, NeverPreempts
from tests.testbench.cases import slow_but_first

pytestmark = pytest.mark.sim

BARE = ProtocolSpec(link=False)


def bare(ports: int, lanes: int = 1, form: str = "int16", **sizes: int) -> SwitchSpec:
    protocol = ProtocolSpec.model_validate(BARE.model_dump() | sizes)
    return SwitchSpec(ports=ports, lanes=lanes, format=form, protocol=protocol)


SMALL = bare(4, phases=6, packet_flits=4)
CASES = {
    "four ports": SMALL,
    "two ports": bare(2, form="int8", phases=5),
    "five ports, fp16": bare(5, 2, "fp16", phases=7),
    "single flits": bare(4, phases=5, packet_flits=1),
    "little room": bare(4, phases=4, packet_flits=5, buffer_packets=2),
    "eight ports, bf16": bare(8, 2, "bf16", phases=16, packet_flits=5),
}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@slow_but_first(CASES)
def test_core_passes_its_regression(spec: SwitchSpec, seed: int, tmp_path: Path) -> None:
    run = cosimulate_core(spec, tmp_path, seed=seed, turns=30)
    assert run.failures == ()
    assert run.measurements["latency_cycles"] == latency_cycles(spec) + added_cycles(spec)
    assert run.measurements["throughput_flits_per_cycle"] == 1.0
    assert run.measurements["flits_checked"] > 500


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_twelve_ports_pass_in_both_simulators(simulator: str, tmp_path: Path) -> None:
    spec = bare(12, form="fp16", phases=8)
    run = cosimulate_core(spec, tmp_path, simulator=simulator, turns=20)
    assert run.failures == ()


FAULTS: dict[type[Fault], str] = {
    NeverPreempts: "urgent_phase_goes_before_those_that_waited_longer",
    FlitEarly: "turns_of_all_phases_are_delivered",
    AlwaysRoom: "port_that_is_not_ready_holds_up_only_its_phases",
    AnyEntry: "entry_that_joins_two_flows_is_refused",
}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "test"), FAULTS.items())
def test_fault_is_noticed(fault: type[Fault], test: str, tmp_path: Path) -> None:
    run = cosimulate_core(SMALL, tmp_path, turns=20, faults=FAULTS, fault=fault, tests=[test])
    assert {outcome.name.partition("/")[0] for outcome in run.failures} == {test}
