"""A plane of two levels: phases from the compiler's program, bit for bit.

All circuits at once, and one phase alone, in Icarus, as it is generated; the rest in compiled code.
"""

import random
from collections.abc import Sequence
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, exchange
from fred_hw.compiler.placement import Strategy
from fred_hw.reading import read_data
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.phase import Phase
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.spec import WaferSpec
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import phase_cycles
from testbench.collectives.plane import PlaneRun, build_plane, npu_steps, preempted, run_plane
from testbench.models.golden_plane import walk_phase
from tests.testbench.collectives.planes import EXAMPLE, compiled_plane

FLIT, SIZE, READY = 2, 24, 300  # bytes of a flit, flits of a buffer, cycles until all is written
UNICASTS = 200  # where they are in memory [flits]
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("wafer")]

Bytes = NDArray[np.uint8]


@cache
def model() -> Path:
    return build_plane(load_wafer(str(EXAMPLE)), Sizes())


def program(strategy: str = "MP2-DP2-PP1") -> WaferProgram:
    return compile_strategy(load_wafer(str(EXAMPLE)), Strategy.parse(strategy), FLIT * SIZE)


def memories(seed: int) -> list[Bytes]:
    """Return random bytes: FP16 numbers of all kinds, infinities and NaNs among them."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (256, FLIT), dtype=np.uint8) for _ in range(4)]


def numbers(memory: Bytes, buffer: Buffer) -> NDArray[np.uint16]:
    first, size = buffer.address // FLIT, buffer.size // FLIT
    return memory[first : first + size].reshape(-1).view("<u2")


def wanted(made: WaferProgram, phase: Phase, before: Sequence[Bytes]) -> dict[int, NDArray]:
    """Return what each NPU gets in a phase, in the order of reduction of the switches."""
    source, _ = made.buffers(phase)
    inputs = {npu: numbers(before[npu], source) for flow in phase.flows for npu in flow.inputs}
    return walk_phase(made.plane, phase.paths, inputs)


def unicast(npu: int) -> Descriptor:
    """Return the exchange of each NPU with the one across the L2."""
    other = FlowId(3 - npu, unicast=True)
    sent, received = (Buffer(FLIT * (UNICASTS + k), FLIT * 20) for k in (0, 20))
    return exchange("pp", (sent, other), (received, other))


def run(
    tmp_path: Path,
    made: WaferProgram,
    jobs: Sequence,
    seed: int,
    *,
    icarus: bool = False,
    **more: Any,
) -> Finished:
    """Simulate in compiled code, or in Icarus."""
    before = memories(seed)
    steps = [npu_steps(made, npu, jobs[npu], READY) for npu in range(4)]
    one = PlaneRun(program=made, steps=steps, memories=before, seed=seed, **more)
    if icarus:
        finished = run_plane(model(), one, tmp_path)
    else:
        finished = run_joined(compiled_plane(), one, tmp_path)
    assert [one["ERROR"] for one in finished.reads] == [[0]] * 4
    return finished


def check(made: WaferProgram, before: Sequence[Bytes], after: Sequence[Bytes]) -> None:
    for phase in made.phases:
        _, destination = made.buffers(phase)
        found = wanted(made, phase, before)
        assert found
        for npu, want in found.items():
            assert (numbers(after[npu], destination) == want).all(), (phase.name, npu)


def test_phases_and_unicasts_cross_two_levels_at_once(tmp_path: Path) -> None:
    """All circuits at a time, begun at random times: MP preempts DP, with unicasts beside.

    The run ends when each L1 has counted a preemption.
    """
    made, rng = program(), random.Random(1)
    mp, dp = made.phases
    jobs = []
    for npu in range(4):
        parts = [one for phase in (dp, mp) for one in made.descriptors(npu, phase)]
        again = [(rng.randrange(60), parts[1]) for _ in range(2)]
        jobs.append([(rng.randrange(60), parts[0]), (10, unicast(npu)), *again])
    l1s = [(n, one.spec) for n, one in enumerate(made.plane.units) if one.name != "l2"]
    behind = {number: [preempted(spec)] for number, spec in l1s}
    more = {"limit": 6000, "behind": behind}
    before, found = memories(1), run(tmp_path, made, jobs, 1, icarus=True, **more)
    check(made, before, found.memories)
    assert found.faults == 0
    for npu in range(4):
        got = found.memories[npu][UNICASTS + 20 : UNICASTS + 40]
        assert (got == before[3 - npu][UNICASTS : UNICASTS + 20]).all()


def test_a_phase_takes_as_long_in_icarus_as_in_compiled_code(tmp_path: Path) -> None:
    made = program()
    run_icarus, run_compiled = partial(run_plane, model()), partial(run_joined, compiled_plane())
    icarus, compiled = (
        phase_cycles(made, made.phase("dp_all_reduce"), partial(run, work=tmp_path))
        for run in (run_icarus, run_compiled)
    )
    assert icarus == compiled


def test_phases_come_through_faults_on_all_links(tmp_path: Path) -> None:
    made = program()
    jobs = [
        [(0, one) for phase in made.phases for one in made.descriptors(npu, phase)]
        for npu in range(4)
    ]
    more: dict[str, Any] = {"faults": 5000, "memory_stalls": 30, "limit": 40_000}
    before, found = memories(2), run(tmp_path, made, jobs, 2, **more)
    check(made, before, found.memories)
    assert found.faults > 0


def test_stages_on_two_switches_multicast_to_each_other(tmp_path: Path) -> None:
    """MP groups are beside each other here, so that a stage sends through the L2 to the next."""
    made = program("MP2-DP1-PP2")
    assert any(len(phase.paths.flows) == 3 for phase in made.phases)
    jobs = [
        [(0, one) for phase in made.phases for one in made.descriptors(npu, phase)]
        for npu in range(4)
    ]
    before, found = memories(3), run(tmp_path, made, jobs, 3, limit=6000)
    check(made, before, found.memories)


def test_planes_of_a_wafer_do_their_parts_of_a_tensor_alone(tmp_path: Path) -> None:
    """Parts of tensors come together to the whole, whatever late and hurt links a plane has."""
    data = deepcopy(read_data(EXAMPLE))
    data["planes"] = 2
    for one in data["switches"]:
        one["chiplets"] *= 2
    wafer = WaferSpec.model_validate(data)
    made = compile_strategy(wafer, Strategy.parse("MP2-DP2-PP1"), FLIT * SIZE)
    chiplets = [one.name for one in made.plane.units]
    assert len(chiplets) * wafer.planes == sum(one.chiplets for one in wafer.switches)

    whole = [np.concatenate(pair) for pair in zip(memories(4), memories(5), strict=True)]
    parts = [[each[256 * plane :][:256] for each in whole] for plane in range(wafer.planes)]
    assert wafer.name == load_wafer(str(EXAMPLE)).name  # a plane of it is that of the example
    cycles, after = [], []
    for plane, faults in ((0, 0), (1, 3000)):
        jobs = [
            [(90 * plane, one) for phase in made.phases for one in made.descriptors(npu, phase)]
            for npu in range(4)
        ]
        steps = [npu_steps(made, npu, jobs[npu], READY) for npu in range(4)]
        one = PlaneRun(
            program=made, steps=steps, memories=parts[plane], faults=faults, limit=40_000
        )
        found = run_joined(compiled_plane(), one, tmp_path / str(plane))
        cycles.append(found.cycles)
        assert (found.faults > 0) == (faults > 0)
        after.append(found.memories)
    assert cycles[0] < cycles[1]

    for phase in made.phases:
        source, destination = made.buffers(phase)
        inputs = {
            npu: np.concatenate([numbers(part[npu], source) for part in parts])
            for flow in phase.flows
            for npu in flow.inputs
        }
        want = walk_phase(made.plane, phase.paths, inputs)
        for npu, whole_result in want.items():
            got = [numbers(memory[npu], destination) for memory in after]
            assert (np.concatenate(got) == whole_result).all(), (phase.name, npu)
