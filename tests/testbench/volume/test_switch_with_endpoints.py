"""A switch with endpoints at its ports: collectives through both, with and without faults."""

import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fred_hw.protocol import ProtocolSpec
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

# Planes of tests/testbench/collectives have switches of four and five ports with endpoints, and
# links of three urgency classes.
SIZES = ((2, 4), (2, 3), (2, 2), (3, 3), (4, 3))
"""Ports and urgency classes."""
MOST, *OTHERS = (
    SwitchSpec(ports=ports, lanes=2, protocol=ProtocolSpec(urgency_classes=classes))
    for ports, classes in SIZES
)
BUILT = [MOST, *(pytest.param(one, marks=pytest.mark.long) for one in OTHERS)]
WORDS = SwitchSpec(ports=2, lanes=1, format="int32")


def tables(spec: SwitchSpec, seed: int) -> list[list[Phase]]:
    """Return tables with a phase of each class: those of a strategy, then random ones."""
    phases = phase_table(random.Random(seed), spec, 12)
    classes = range(spec.protocol.urgency_classes)
    kinds = [[phase for phase in phases if phase.circuit == circuit] for circuit in classes]
    return [list(table) for table in zip(*kinds, strict=False)]


def sizes_of(spec: SwitchSpec) -> str:
    return f"{spec.ports} ports, {spec.protocol.urgency_classes} classes"


FAULTS = noticed_by("switch with endpoints")


class Made(NamedTuple):
    """A switch with endpoints, and its program."""

    spec: SwitchSpec
    program: Path


@pytest.fixture(scope="module", params=BUILT, ids=sizes_of)
def made(request: pytest.FixtureRequest) -> Made:
    """Return one with faults to choose from, and none of them unless it is chosen."""
    return Made(request.param, build_switch_with_endpoints(request.param, FaultyEmitter(FAULTS)))


def run(made: Made, table: list[Phase], load: Load, **conditions: Any) -> dict[str, Any]:
    spec, program = made
    return run_switch_with_endpoints(program, spec, table, load, Conditions(**conditions))


def run_right(made: Made, table: list[Phase], load: Load, **more: Any) -> dict[str, Any]:
    found = run(made, table, load, **more)
    assert found["right"], (table, found)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_collectives_come_out_as_the_golden_model_says(made: Made, seed: int) -> None:
    for table in tables(made.spec, seed):
        run_right(made, table, Load(packets=400), seed=seed, stall_percent=10 * seed)
        faulty = run_right(
            made, table, Load(packets=400), seed=seed, faults_per_million=2_000, delay=7
        )
        assert sum(faulty["faults"].values()) > 20


def test_unicasts_share_ports_with_collectives(made: Made) -> None:
    table = [phase for phase in tables(made.spec, 0)[0] if phase.circuit != 1]
    load = Load(packets=800, unicasts=1)
    run_right(made, table, load, faults_per_million=1_000, stall_percent=5)


@pytest.mark.parametrize("seed", range(3))
def test_phases_that_take_turns_on_a_circuit(made: Made, seed: int) -> None:
    table = phase_table(random.Random(seed), made.spec, 9)
    for faults in (0, 2_000):
        more = {"seed": seed, "faults_per_million": faults, "stall_percent": 10 * seed}
        run_right(made, table, Load(packets=40, rounds=4), **more)


def test_collectives_on_all_circuits_fill_the_links(made: Made) -> None:
    result = run_right(made, tables(made.spec, 0)[0], Load(packets=4_000, full=True))
    # Of all cycles, those of the first flits on their way and of the last acks among them.
    assert payload_share(result["flits"] / made.spec.ports / result["span_cycles"]) >= 0.968


@pytest.mark.long
def test_integers_of_four_bytes() -> None:
    words = Made(WORDS, build_switch_with_endpoints(WORDS))
    for table in tables(WORDS, 1):
        run_right(words, table, Load(packets=500), faults_per_million=2_000)


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_noticed(made: Made, fault: Fault) -> None:
    table = tables(made.spec, 1)[0]
    # It may end before an answer is missed: one of three runs must show it.
    chosen = {
        "faults_per_million": 20_000,
        "idle_limit": 20_000,
        "plusargs": FaultyEmitter(FAULTS).plusargs(fault),
    }
    assert not all(
        run(made, table, Load(packets=2_000), seed=seed, **chosen)["right"] for seed in (1, 2, 3)
    )
