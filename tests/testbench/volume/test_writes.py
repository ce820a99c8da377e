"""Anything may be written to the entry of a phase, at any time: all other phases go on."""

# A frozen model of pydantic is hashable; the type checker does not see it.
# pyright: reportArgumentType=false

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fred_hw.spec import SwitchSpec
from testbench.volume.loaded_switch import build_switch
from testbench.volume.scenario import Attempt, Wait
from testbench.volume.writes import EXPECTED, attempts, run_writes
from tests.testbench.volume.pair import PAIR, faulty_pair

pytestmark = [pytest.mark.sim, pytest.mark.slow]

# Two ports are enough for an entry to be anything; three have more ways.
THREE = PAIR.with_changes(ports=3)


@cache
def program(spec: SwitchSpec) -> Path:
    return faulty_pair()[0] if spec == PAIR else build_switch(spec)


def check(spec: SwitchSpec, seed: int, writes: int, packets: int) -> set[str]:
    """Run writes, with and without faults on links, and return the errors."""
    rng = random.Random(seed)
    result = run_writes(
        program(spec),
        spec,
        seed=seed,
        writes=writes,
        packets=packets,
        delay=rng.choice((1, 10, 24)),
        stall_percent=rng.choice((0, 20)),
        faults_per_million=rng.choice((0, 0, 5000)),
        idle_limit=50_000,
    )
    assert result["right"], (seed, result["messages"], result["state"])
    assert set(result["errors"][0]) <= EXPECTED
    return result["errors"][0]


def test_no_write_to_a_phase_hurts_another() -> None:
    met = set[str]().union(*(check(PAIR, seed, writes=400, packets=60) for seed in range(24)))
    # Entries were refused, and packets met one that is not theirs.
    assert {"phase", "configuration"} <= met


@pytest.mark.long
@pytest.mark.parametrize("seed", range(24, 424))
def test_no_write_to_a_phase_hurts_another_in_many_runs(seed: int) -> None:
    check((PAIR, THREE)[seed % 2], seed, writes=4000, packets=600)


def test_a_write_to_another_phase_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_the_next(
        rng: random.Random, spec: SwitchSpec, phase: int, *others: Any
    ) -> list[Attempt | Wait]:
        return attempts(rng, spec, (phase + 1) % spec.protocol.phases, *others)

    monkeypatch.setattr("testbench.volume.writes.attempts", of_the_next)
    result = run_writes(program(PAIR), PAIR, seed=1, writes=400, packets=60, idle_limit=20_000)
    assert not result["right"]


def test_writes_are_of_single_registers_and_as_many_as_asked() -> None:
    found = attempts(random.Random(1), PAIR, 2, [1 << 20], 100, 9)
    assert 100 <= sum(isinstance(one, Attempt) for one in found) < 120
