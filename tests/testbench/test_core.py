"""The switch core in co-simulation, and broken cores that its benches must notice."""

# Amaranth has no types.
# pyright: reportReturnType=false, reportGeneralTypeIssues=false, reportAttributeAccessIssue=false

from collections.abc import Callable
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal, Value

from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.core import SwitchCore
from fred_hw.switch.input_port import InputPort
from fred_hw.switch.output_port import OutputPort
from fred_hw.switch.spec import CoreSpec
from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter
from testbench.core import CORE_CYCLES, cosimulate_core

pytestmark = pytest.mark.sim

SWITCH, CORE = SwitchSpec(ports=4, lanes=1, format="int16"), CoreSpec(phases=6, packet_flits=4)
CASES = {
    "four ports": (SWITCH, CORE, 30),
    "two ports": (SwitchSpec(ports=2, lanes=1, format="int8"), CoreSpec(phases=5), 30),
    "five ports, fp16": (SwitchSpec(ports=5, lanes=2), CoreSpec(phases=7), 30),
    "single flits": (SWITCH, CoreSpec(phases=5, packet_flits=1, buffer_packets=4), 60),
    "little room": (SWITCH, CoreSpec(phases=4, packet_flits=5, buffer_packets=3), 30),
    "eight ports, bf16": (
        SwitchSpec(ports=8, lanes=2, format="bf16"),
        CoreSpec(phases=16, packet_flits=5),
        30,
    ),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("switch", "core", "turns"), CASES.values(), ids=CASES.keys())
def test_core_passes_its_regression(
    switch: SwitchSpec, core: CoreSpec, turns: int, seed: int, tmp_path: Path
) -> None:
    run = cosimulate_core(switch, core, tmp_path, seed=seed, turns=turns)
    assert run.failures == ()
    assert run.measurements["latency_cycles"] == latency_cycles(switch) + CORE_CYCLES
    assert run.measurements["throughput_flits_per_cycle"] == 1.0
    assert run.measurements["flits_checked"] > 500


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_twelve_ports_pass_in_both_simulators(simulator: str, tmp_path: Path) -> None:
    switch = SwitchSpec(ports=12, lanes=1)
    run = cosimulate_core(switch, CoreSpec(), tmp_path, simulator=simulator, turns=20)
    assert run.failures == ()


class LatestFirst(SwitchCore):
    """Starts the phase with the highest number, whatever its circuit."""

    def _choose(self, m: Module, may: list[Value], circuits: list[Signal]) -> tuple[Signal, Signal]:
        chosen, found = Signal(self.spec.phase_bits), Signal()
        for phase, able in enumerate(may):
            with m.If(able):
                m.d.comb += [chosen.eq(phase), found.eq(1)]
        return chosen, found


class Hasty(InputPort):
    """Says that a flit is there before it is."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        m.d.comb += self.valid.eq(1)
        return m


class AlwaysRoom(OutputPort):
    """Promises room for a packet more than there is."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        m.d.comb += self.room.eq(1)
        return m


def broken_core() -> Unit:
    return LatestFirst(switch=SWITCH, spec=CORE)


def broken_input() -> Unit:
    return Hasty(spec=CORE, data_width=SWITCH.data_width)


def broken_output() -> Unit:
    latency = latency_cycles(SWITCH)
    return AlwaysRoom(spec=CORE, data_width=SWITCH.data_width, latency=latency)


@pytest.mark.parametrize(
    ("build", "test"),
    [
        (broken_core, "urgent_phase_goes_before_those_that_waited_longer"),
        (broken_input, "turns_of_all_phases_are_delivered"),
        (broken_output, "port_that_is_not_ready_holds_up_only_its_phases"),
    ],
    ids=["priority", "input", "room"],
)
def test_broken_core_is_noticed(build: Callable[[], Unit], test: str, tmp_path: Path) -> None:
    unit = build()
    emitter = VerilogEmitter({unit.unit_name: unit})
    run = cosimulate_core(SWITCH, CORE, tmp_path, turns=20, emitter=emitter)
    assert test in {outcome.name.partition("/")[0] for outcome in run.failures}
