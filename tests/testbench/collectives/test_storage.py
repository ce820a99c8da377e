"""Loads and stores of I/O controllers on a plane of two levels, bit for bit.

In compiled code, and a store in Icarus too where tests take long.
"""

import random
from functools import cache
from pathlib import Path

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.spec import WaferSpec
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import PhaseRun, phase_cycles, random_memories
from testbench.collectives.plane import PlaneRun, build_plane, npu_steps, run_plane
from testbench.models.golden_phase import golden_results, wrong_npus
from tests.testbench.collectives.planes import EXAMPLE, compiled_plane

FLIT, FLITS, READY = 2, 16, 400  # bytes of a flit, flits of a buffer, cycles until all is written
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("wafer")]


def wafer() -> WaferSpec:
    return load_wafer(str(EXAMPLE), {"controllers": "endpoints"})


@cache
def model() -> Path:
    return build_plane(wafer(), Sizes())


def program(strategy: str) -> WaferProgram:
    return compile_strategy(wafer(), Strategy.parse(strategy), FLIT * FLITS)


@pytest.mark.parametrize(("strategy", "faults"), [("MP2-DP2-PP1", 0), ("MP2-DP1-PP2", 5000)])
def test_loads_and_stores_go_beside_all_other_phases(
    tmp_path: Path, strategy: str, faults: int
) -> None:
    """Begun at random times at each endpoint; the second one has two turns, on links that lose."""
    made, rng = program(strategy), random.Random(7)
    before = random_memories(made, 7)
    assert len(before) == made.endpoints == 6
    steps = []
    for end in range(made.endpoints):
        parts = [one for phase in made.phases for one in made.descriptors(end, phase)]
        steps.append(npu_steps(made, end, [(rng.randrange(60), one) for one in parts], READY))
    stalls = 20 if faults else 0
    run = PlaneRun(program=made, steps=steps, memories=before, seed=7, limit=40_000)
    run = PlaneRun(**{**vars(run), "faults": faults, "memory_stalls": stalls})
    found = run_joined(compiled_plane("endpoints"), run, tmp_path)
    assert (found.faults > 0) == (faults > 0)
    assert [one["ERROR"] for one in found.reads] == [[0]] * 6
    for phase in made.phases:
        assert wrong_npus(made, phase.name, before, found.memories) == []
        controllers = {end for end in golden_results(made, phase, before) if end >= made.npus}
        assert bool(controllers) == phase.name.startswith("store"), phase.name
    damaged = [memory.copy() for memory in found.memories]
    stored = made.phase("store_0")
    damaged[5][made.buffers(stored)[1].address // FLIT, 0] ^= 1
    assert wrong_npus(made, "store_0", before, damaged) == [5]


def alone(phase: str, folder: Path, *, icarus: bool = False) -> PhaseRun:
    """Return how long a phase takes alone."""
    made = program("MP2-DP2-PP1")

    def run(one: PlaneRun) -> Finished:
        if icarus:
            return run_plane(model(), one, folder)
        return run_joined(compiled_plane("endpoints"), one, folder)

    return phase_cycles(made, made.phase(phase), run)


def test_a_load_and_a_store_take_as_long_as_an_all_reduce(tmp_path: Path) -> None:
    across = alone("dp_all_reduce", tmp_path)
    for phase, times in (("load_0", 4), ("store_0", 2)):
        found = alone(phase, tmp_path)
        assert found.flits == FLITS * times
        assert 100 < found.cycles < 400
        assert abs(found.cycles - across.cycles) <= 20, (phase, found.cycles, across.cycles)


@pytest.mark.long
def test_a_store_takes_as_long_in_icarus_as_in_compiled_code(tmp_path: Path) -> None:
    assert alone("store_0", tmp_path, icarus=True) == alone("store_0", tmp_path)
