"""A switch with endpoints at its ports: collectives through both, with and without faults."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from fred_hw.spec import SwitchSpec
from testbench.faults.fault import Fault, FaultyEmitter, noticed_by
from testbench.stimulus.phases import Phase, phase_table
from testbench.volume.conditions import Conditions
from testbench.volume.switch_with_endpoints import (
    Load,
    build_switch_with_endpoints,
    run_switch_with_endpoints,
)
from tests.testbench.cases import payload_share

pytestmark = [pytest.mark.sim, pytest.mark.slow]

FOUR = SwitchSpec(ports=4, lanes=2)
TWO = SwitchSpec(ports=2, lanes=1, format="int32")


def tables(spec: SwitchSpec, seed: int) -> list[list[Phase]]:
    """Return tables with a phase of each circuit: those of a strategy, then random ones."""
    phases = phase_table(random.Random(seed), spec, 12)
    kinds = [[phase for phase in phases if phase.circuit == circuit] for circuit in range(3)]
    return [list(table) for table in zip(*kinds, strict=False)]


FAULTS = noticed_by("switch with endpoints")
EMITTER = FaultyEmitter(FAULTS)


@pytest.fixture(scope="module")
def four() -> Path:
    """Return one with faults to choose from, and none of them unless it is chosen."""
    return build_switch_with_endpoints(FOUR, EMITTER)


@pytest.mark.parametrize("seed", range(3))
def test_collectives_come_out_as_the_golden_model_says(four: Path, seed: int) -> None:
    for table in tables(FOUR, seed):
        result = run_switch_with_endpoints(
            four, FOUR, table, Load(packets=400), Conditions(seed=seed, stall_percent=10 * seed)
        )
        assert result["right"], (table, result)
        faulty = run_switch_with_endpoints(
            four,
            FOUR,
            table,
            Load(packets=400),
            Conditions(seed=seed, faults_per_million=2_000, delay=7),
        )
        assert faulty["right"], (table, faulty)
        assert sum(faulty["faults"].values()) > 20


def test_unicasts_at_the_default_index_beside_collectives(four: Path) -> None:
    table = [phase for phase in tables(FOUR, 0)[0] if phase.circuit != 1]
    result = run_switch_with_endpoints(
        four,
        FOUR,
        table,
        Load(packets=800, unicasts=1),
        Conditions(faults_per_million=1_000, stall_percent=5),
    )
    assert result["right"], result


@pytest.mark.parametrize("seed", range(3))
def test_phases_that_take_turns_on_a_circuit(four: Path, seed: int) -> None:
    table = phase_table(random.Random(seed), FOUR, 9)
    for faults in (0, 2_000):
        result = run_switch_with_endpoints(
            four,
            FOUR,
            table,
            Load(packets=40, rounds=4),
            Conditions(seed=seed, faults_per_million=faults, stall_percent=10 * seed),
        )
        assert result["right"], (table, result)


def test_collectives_on_all_circuits_fill_the_links(four: Path) -> None:
    table = tables(FOUR, 0)[0]
    result = run_switch_with_endpoints(four, FOUR, table, Load(packets=4_000, full=True))
    assert result["right"], result
    # Of all cycles, those of the first flits on their way and of the last acks among them.
    assert payload_share(result["flits"] / FOUR.ports / result["span_cycles"]) >= 0.97


@pytest.mark.long
def test_two_ports() -> None:
    two = build_switch_with_endpoints(TWO)
    for table in tables(TWO, 1):
        result = run_switch_with_endpoints(
            two, TWO, table, Load(packets=500), Conditions(faults_per_million=2_000)
        )
        assert result["right"], result


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_noticed(four: Path, fault: Fault) -> None:
    table = tables(FOUR, 1)[0]
    # It may end before an answer is missed: one of three runs must show it.
    chosen = Conditions(
        faults_per_million=20_000, idle_limit=20_000, plusargs=EMITTER.plusargs(fault)
    )
    assert not all(
        run_switch_with_endpoints(
            four, FOUR, table, Load(packets=2_000), replace(chosen, seed=seed)
        )["right"]
        for seed in (1, 2, 3)
    )
