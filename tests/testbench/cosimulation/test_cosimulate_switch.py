"""The whole switch in co-simulation, and broken switches that its benches must notice."""

# Fields of a specification go by name as keyword arguments.
# pyright: reportArgumentType=false

from pathlib import Path

import pytest

from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES
from testbench.characterize import SWITCH_TESTS
from testbench.cosimulation.cosimulate_switch import cosimulate_switch
from testbench.cosimulation.launch import Options
from testbench.faults.fault import Fault, noticed_by
from testbench.sim.runner import SimulationResult
from tests.testbench.cases import FIVE, SINGLE, small

pytestmark = pytest.mark.sim

SPEC = small()

TWELVE = SwitchSpec(ports=12, lanes=1, format="fp16")
LITTLE = small(2, phases=4, packet_flits=5, round_trip_cycles=8, buffer_packets=2)


OTHERS: dict[str, Options] = {
    "whole": {"simulator": "verilator"},
    "measured": {"simulator": "icarus", "tests": SWITCH_TESTS},
}


def check(spec: SwitchSpec, run: SimulationResult) -> None:
    assert [(test.name, test.message) for test in run.failures] == []
    measured = run.measurements
    assert len(run.tests) > 40
    single = spec.protocol.packet_flits == 1  # over before the next phase is chosen
    assert measured["flits_checked"] > (1500 if single else 3000)
    latency = latency_cycles(spec) + ADDED_CYCLES
    assert measured["switch_latency_cycles"] == sum(measured["stages"].values()) == latency
    assert measured["reconfiguration_cycles"] == int(single)
    # An urgent packet is seen after three cycles, then the one under way ends.
    most = spec.protocol.packet_flits
    assert most <= measured["preemption_cycles"] <= max(most, 4) + 1
    efficiency = measured["efficiency"]
    assert efficiency["header_and_crc_bits"] == 96
    assert efficiency["ack_share"] > 0
    assert efficiency["data_flits_per_cycle"] + efficiency["control_share"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "seed", "simulator"),
    [
        # Volume is in five ports of odd sizes: tests/testbench/volume/test_loaded_switch.py
        # Five times as long in Icarus.
        pytest.param(
            small(5, 2, "fp16", packet_flits=6, window_packets=64),
            3,
            "verilator",
            marks=pytest.mark.long,
        ),
        pytest.param(SINGLE, 3, "verilator", marks=pytest.mark.long),
        pytest.param(small(2, form="int8", phases=3), 2, "icarus", marks=pytest.mark.long),
    ],
    ids=["five ports", "single flits", "two ports"],
)
def test_other_sizes_pass(spec: SwitchSpec, seed: int, simulator: str, tmp_path: Path) -> None:
    check(spec, cosimulate_switch(spec, tmp_path, packets=3, seed=seed, simulator=simulator))


@pytest.mark.slow
def test_regression_passes(tmp_path: Path) -> None:
    # Icarus runs much of it at two ports in tests/synth/test_memories.py, all where it is long.
    check(SPEC, cosimulate_switch(SPEC, tmp_path, seed=7, simulator="verilator"))


@pytest.mark.slow
@pytest.mark.parametrize("spec", [SINGLE, pytest.param(SPEC, marks=pytest.mark.long)])
def test_both_simulators_measure_the_same(spec: SwitchSpec, tmp_path: Path) -> None:
    same = Options(seed=7)
    whole, measured = (
        cosimulate_switch(spec, tmp_path / name, **Options(**same | other))
        for name, other in OTHERS.items()
    )
    check(spec, whole)
    assert measured.failures == () and len(measured.tests) == len(SWITCH_TESTS)
    ours, theirs = (dict(run.measurements) for run in (whole, measured))
    assert 0 < theirs.pop("flits_checked") < ours.pop("flits_checked")
    assert len(theirs) > 5 and theirs.items() <= ours.items()


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        # Its measures are taken for the timing records of the wafer's chiplets.
        pytest.param(TWELVE, id="twelve ports", marks=pytest.mark.long),
        pytest.param(
            small(8, 2, "bf16", phases=16, packet_flits=5), id="eight ports", marks=pytest.mark.long
        ),
        pytest.param(FIVE, id="five ports", marks=pytest.mark.long),
        # Too little to be measured at full rate.
        pytest.param(LITTLE, id="little space"),
    ],
)
def test_sizes_without_measures_pass(spec: SwitchSpec, tmp_path: Path) -> None:
    # All of their variants are run at four ports.
    tests = (
        "collective_is_delivered_phase_by_phase/kind=(all_reduce|all_to_all|scatter)",
        "flows_and_phases_run_at_once/stall=0.3",
        "unicasts_share_ports_with_phases",
        "flow_goes_on_after_one_fault/direction=to_switch/kind=lost",
        "flow_goes_on_after_one_fault/direction=from_switch/kind=bit_of_header",
        "counters_agree_with_what_was_sent",
    )
    run = cosimulate_switch(spec, tmp_path, tests=tests, packets=3)
    assert [(test.name, test.message) for test in run.failures] == []
    assert {test.name.partition("/")[0] for test in run.tests} == {
        test.partition("/")[0] for test in tests
    }
    # 482 were counted with two ports, 919 with four; lengths are random.
    assert run.measurements["flits_checked"] > (400 if spec.ports == 2 else 800)


FAULTS = noticed_by("switch")


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "test"), FAULTS.items())
def test_fault_is_noticed(fault: Fault, test: str, tmp_path: Path) -> None:
    run = cosimulate_switch(SPEC, tmp_path, faults=FAULTS, fault=fault, tests=[test])
    assert {outcome.name.partition("/")[0] for outcome in run.failures} == {test.partition("/")[0]}
