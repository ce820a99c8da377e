"""Groups that share a link between switches, in rounds: bit for bit, whoever begins when."""

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from fred_hw.ace.operations import Descriptor
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.phase import switched_phases
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.spec import WaferSpec
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import phase_cycles, random_memories
from testbench.collectives.plane import PlaneRun, build_plane, npu_steps, run_plane
from testbench.models.golden_phase import golden_results, wrong_npus
from testbench.sim.tools import SimulatorError
from tests.testbench.collectives.planes import bare_wafer

FLIT, FLITS, READY = 2, 24, 400
"""Bytes of a flit, flits of a phase, cycles until all is written."""
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("wafer")]


def wafer(l1s: int, npus: int) -> WaferSpec:
    """Return L1s with as many NPUs each and a link up, of units that the bare wafer has."""
    bare = bare_wafer().model_dump(include={"lanes", "protocol", "endpoint"})
    common = {"chiplets": 1, "ports": 4}
    below = {**common, "above": "l2", "uplinks": 1, "spare": 3 - npus}
    switches = [
        {"name": "l2", **common, "spare": 4 - l1s},
        *(
            {"name": f"l1_{n}", **below, "npus": [npus * n + k for k in range(npus)]}
            for n in range(l1s)
        ),
    ]
    return WaferSpec.model_validate({**bare, "npus": l1s * npus, "switches": switches})


@cache
def compiled(l1s: int, npus: int) -> Path:
    return build_compiled(wafer(l1s, npus), Sizes())


def program(strategy: str, phase: str = "", l1s: int = 3, npus: int = 3) -> WaferProgram:
    """Return all phases of a strategy, or one, as the wafer has entries for eight numbers."""
    parsed, one = Strategy.parse(strategy), wafer(l1s, npus)
    if not phase:
        return compile_strategy(one, parsed, FLIT * FLITS)
    plane = Plane(one)
    return WaferProgram(plane, parsed, switched_phases(plane, parsed), FLIT * FLITS).alone(phase)


def run(
    made: WaferProgram,
    times: int,
    folder: Path,
    *,
    faults: int = 0,
    seed: int = 1,
    late: Mapping[tuple[int, int], int] | None = None,
    left_out: int = -1,
) -> None:
    """Do all phases some times, and compare all results.

    Each descriptor is queued at a random time, or so ``late`` as is said of an NPU's first one of a
    time; those of a number may be left out.
    """
    rng, before = random.Random(seed), random_memories(made, seed)
    steps = []
    for npu in range(made.npus):
        jobs: list[tuple[int, Descriptor]] = []
        for time, phase in product(range(times), made.phases):
            wait = 0 if late is None else late.get((time, npu), 0)
            for one in made.descriptors(npu, phase):
                if left_out not in {flow.number for flow in (one.send, one.receive) if flow}:
                    wait = rng.choice((0, 0, rng.randrange(600))) if late is None else wait
                    jobs.append((wait, one))
                    wait = 0
        steps.append(npu_steps(made, npu, jobs, READY))
    one = PlaneRun(
        program=made,
        steps=steps,
        memories=before,
        faults=faults,
        memory_stalls=20 if faults else 0,
        limit=60_000 if faults else 20_000,
        seed=seed,
    )
    found = run_joined(compiled(3, 3), one, folder)
    assert (found.faults > 0) == (faults > 0)
    assert [one["ERROR"] for one in found.reads] == [[0]] * made.npus
    for phase in made.phases:
        assert golden_results(made, phase, before)
        assert wrong_npus(made, phase.name, before, found.memories) == []


@pytest.mark.parametrize("faults", [0, 5000])
@pytest.mark.parametrize(
    ("strategy", "phase", "rounds"),
    [
        ("MP3-DP3-PP1", "", 3),  # each L1 has all three groups; MP inside L1s beside
        ("MP1-DP2-PP4", "dp_all_reduce", 4),  # L1s have others each, who are told across the top
        ("MP2-DP4-PP1", "dp_all_reduce", 2),  # two of a group on an L1
        ("MP4-DP2-PP1", "mp_all_reduce", 2),  # one behind nobody on its L1
        ("MP2-DP4-PP1-EP4", "ep_all_to_all_1", 2),  # copies, all at once over the same links
    ],
)
def test_rounds_are_right_whoever_begins_when(
    tmp_path: Path, strategy: str, phase: str, rounds: int, faults: int
) -> None:
    """Three times one behind the other, on links that lose and change flits or do not."""
    made = program(strategy, phase)
    assert len(made.phase(phase or "dp_all_reduce").rounds) == rounds
    for seed in range(1, 3):
        run(made, 3, tmp_path / str(seed), faults=faults, seed=seed)


@pytest.mark.parametrize(
    ("kind", "late"),
    [
        # On one L1 the first round comes late, on another one the second.
        ("token_0", {(0, 0): 900, (0, 4): 900}),
        # On one L1 the second round comes behind the next time's first, on another one before it.
        ("end_0", {(0, 1): 1500, (1, 3): 3000}),
    ],
)
def test_nobody_ends_who_is_not_told(
    tmp_path: Path, kind: str, late: Mapping[tuple[int, int], int]
) -> None:
    """Without it packets of two rounds stand before each other in two queues of the L2."""
    made = program("MP3-DP3-PP1", "dp_all_reduce")
    numbers = {one.name.partition(":")[2]: one.number for one in made.phases[0].entries}
    run(made, 2, tmp_path, late=late)
    with pytest.raises(SimulatorError, match=r"^fabric: \{'late': "):
        run(made, 2, tmp_path, late=late, left_out=numbers[kind])
    run(made, 2, tmp_path, late={}, left_out=numbers["end_0"])  # all in one order


def test_nobody_stands_before_a_flit_that_crosses_the_top_again(tmp_path: Path) -> None:
    """One to be told on another L1 comes so late that the flit is sent again: NPU 6, by NPU 3."""
    made = program("MP4-DP2-PP1", "mp_all_reduce")
    tokens = made.phases[0].switched.tokens
    assert [one.flows for one in tokens] == [(Flow([3], [6, 7]),), (Flow([3], [4, 5]),)]
    run(made, 2, tmp_path, late={(0, 6): 900, (1, 7): 1500})


@pytest.mark.long  # narrow links are simulated as generated in test_narrow.py
def test_what_is_generated_takes_as_long(tmp_path: Path) -> None:
    """Four NPUs on two L1s, in the generated top in Icarus and compiled; two rounds."""
    made = program("MP2-DP2-PP1", l1s=2, npus=2)
    phase = made.phase("dp_all_reduce")
    assert [len(one.flows) for one in phase.switched.all] == [1, 1, 2, 2]
    size = Sizes()
    runs = [
        (run_plane, build_plane(made.plane.wafer, size)),
        (run_joined, compiled(2, 2)),
    ]
    found = []
    for number, (simulate, model) in enumerate(runs):
        folder = tmp_path / str(number)

        def once(one: PlaneRun, s=simulate, m=model, f=folder) -> Finished:
            return s(m, replace(one, limit=8000), f)

        found.append(phase_cycles(made, phase, once))
    assert found[0] == found[1]
    assert found[0].flits == 4 * FLITS
