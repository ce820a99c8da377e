"""The switch core in co-simulation, and broken cores that its benches must notice."""

# Amaranth has no types.
# pyright: reportReturnType=false, reportGeneralTypeIssues=false, reportAttributeAccessIssue=false

from collections.abc import Callable
from pathlib import Path

import pytest
from amaranth.hdl import Module

from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.entry_check import EntryCheck
from fred_hw.switch.ports.input_port import InputPort
from fred_hw.switch.ports.output_port import OutputPort
from fred_hw.switch.scheduler import Scheduler
from fred_hw.switch.switch import added_cycles
from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter
from testbench.cosimulation.core import cosimulate_core

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


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("spec", CASES.values(), ids=CASES.keys())
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


class Stubborn(Scheduler):
    """Serves a phase to its end, however urgent another one is."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        m.d.comb += self.service.leaving.eq(0)
        return m


class Hasty(InputPort):
    """Says that a flit is there before it is."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        m.d.comb += self.head.valid.eq(1)
        return m


class AlwaysRoom(OutputPort):
    """Promises room for a packet more than there is."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        m.d.comb += self.injection.room.eq(7)
        return m


class Credulous(EntryCheck):
    """Takes every entry."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        m.d.sync += self.right.eq(1)
        return m


@pytest.mark.parametrize(
    ("unit", "test"),
    [
        (lambda: Stubborn(spec=SMALL), "urgent_phase_goes_before_those_that_waited_longer"),
        (lambda: Hasty(spec=SMALL), "turns_of_all_phases_are_delivered"),
        (
            lambda: AlwaysRoom(spec=SMALL, latency=latency_cycles(SMALL)),
            "port_that_is_not_ready_holds_up_only_its_phases",
        ),
        (lambda: Credulous(spec=SMALL), "entry_that_joins_two_flows_is_refused"),
    ],
    ids=["priority", "input", "room", "entry"],
)
def test_broken_core_is_noticed(unit: Callable[[], Unit], test: str, tmp_path: Path) -> None:
    broken = unit()
    emitter = VerilogEmitter({broken.unit_name: broken})
    run = cosimulate_core(SMALL, tmp_path, turns=20, emitter=emitter)
    assert test in {outcome.name.partition("/")[0] for outcome in run.failures}
