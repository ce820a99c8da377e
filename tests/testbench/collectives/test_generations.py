"""Strategies loaded one after another on a plane, until generations of their phases come round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from fred_hw.ace.endpoint_map import CAUSES, endpoint_map
from fred_hw.ace.operations import Buffer, Descriptor, FlowId, exchange
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy
from fred_hw.control.switch_map import switch_map
from fred_hw.protocol import GENERATIONS
from fred_hw.virtual_channels import DEFAULT_CHANNELS
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.phase import Phase
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.rounds import find_rounds
from testbench.collectives.fabric import Finished, Flits
from testbench.collectives.joined import run_joined
from testbench.collectives.plane import LEAST, SHOW, UNTIL, Code, PlaneRun, codes
from testbench.models.golden_plane import walk_phase
from tests.testbench.collectives.planes import EXAMPLE, compiled_plane

FLIT, SIZE, FLITS = 2, 24, 256  # bytes of a flit, flits of a buffer and of a memory
LOAD, FORGET, READY = 1200, 100, 500
"""Cycles of a load, until endpoints have forgotten phases, and until switches have entries."""

DROP, DRAIN = 1024 + 128 * 5, 256 + 24
"""Cycles until packets of erased phases are dropped, and between switches that are then empty."""

ANY = 0xFFFFFFFF
WAFER = load_wafer(str(EXAMPLE))
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("wafer")]


@dataclass(frozen=True)
class Load:
    """A program, what endpoints queue in place of its phases, and how many of these they await.

    Software of NPUs that ``remember`` omits FORGET.
    """

    program: WaferProgram
    queued: Mapping[int, Sequence[Descriptor]] = field(default_factory=dict)
    awaited: Mapping[int, int] = field(default_factory=dict)
    remember: Sequence[int] = ()

    def jobs(self, npu: int) -> Sequence[Descriptor]:
        """Return what an endpoint queues."""
        made = self.program
        own = [one for phase in made.phases for one in made.descriptors(npu, phase)]
        return self.queued.get(npu, own)


def strategy(name: str, generation: int, size: int = SIZE) -> WaferProgram:
    return compile_strategy(WAFER, Strategy.parse(name), FLIT * size, generation=generation)


def copy(source: int, to: Sequence[int], generation: int) -> WaferProgram:
    """Return a program of one phase, number 0, in which an NPU multicasts."""
    made, flow = strategy("MP4-DP1-PP1", generation), Flow([source], to)
    phase = Phase("mp_copy", "mp", 0, (flow,), find_rounds(made.plane, (flow,), {}))
    return replace(made, phases=(phase,))


def run(loads: Sequence[Load], tmp_path: Path) -> tuple[list[Flits], Finished]:
    """Load programs one after another, each when the one before is over; return memories too."""
    rng = np.random.default_rng(1)
    memories = [rng.integers(0, 256, (FLITS, FLIT), dtype=np.uint8) for _ in range(WAFER.npus)]
    one = PlaneRun(
        program=loads[0].program,
        steps=[endpoint_codes(loads, npu) for npu in range(WAFER.npus)],
        memories=memories,
        behind=dict(enumerate(switch_codes(loads))),
        limit=begins(loads)[-1] + 2 * LOAD,
    )
    return memories, run_joined(compiled_plane(), one, tmp_path)


def begins(loads: Sequence[Load]) -> list[int]:
    """Return the cycles in which loads begin; phases are erased before if packets need that."""
    found = [0]
    for load in loads[1:]:
        erases = load.program.generation % GENERATIONS == 0
        found.append(found[-1] + LOAD + erases * (DROP + DRAIN * len(load.program.plane.units)))
    return found


def endpoint_codes(loads: Sequence[Load], npu: int) -> list[Code]:
    registers = endpoint_map(WAFER.link)
    clock, forget = (registers.register(name).address for name in ("CYCLES", "FORGET"))
    steps: list[Code] = []
    ended: dict[str, int] = dict.fromkeys(DEFAULT_CHANNELS.names, 0)
    for start, load in zip(begins(loads), loads, strict=True):
        made, jobs = load.program, load.jobs(npu)
        steps.append((LEAST, clock, start, ANY))
        begin = [one for one in made.begin_steps(npu) if one.address != forget]
        steps += codes(begin if npu in load.remember else made.begin_steps(npu))
        steps.append((LEAST, clock, start + READY, ANY))
        for place, job in enumerate(jobs):
            steps += codes(made.descriptor_steps(job))
            ended[job.circuit] += place < load.awaited.get(npu, len(jobs))
        steps += [(UNTIL, made.completed(name), count, ANY) for name, count in ended.items()]
    shown = ("ERROR", "DROPPED")
    steps.append((LEAST, clock, begins(loads)[-1] + LOAD, ANY))
    return [*steps, *((SHOW, registers.register(name).address, 0, 0) for name in shown)]


def switch_codes(loads: Sequence[Load]) -> list[list[Code]]:
    found: list[list[Code]] = []
    for number, chiplet in enumerate(loads[0].program.plane.units):
        clock = switch_map(chiplet.spec).register("CYCLES").address
        steps: list[Code] = []
        starts = begins(loads)
        for before, start, load in zip(starts, starts[1:], loads[1:], strict=False):
            made, erase = load.program, before + LOAD
            steps.append((LEAST, clock, erase, ANY))
            steps += codes(made.erase_steps(number))
            if drain := made.drain_steps(number):
                steps.append((LEAST, clock, erase + DROP + DRAIN * number, ANY))
                steps += codes(drain)
            steps.append((LEAST, clock, start + FORGET, ANY))
            steps += codes(made.switch_steps(number))
        found.append(steps)
    return found


def numbers(memory: Flits, buffer: Buffer) -> np.ndarray:
    first, size = buffer.address // FLIT, buffer.size // FLIT
    return memory[first : first + size].reshape(-1).view("<u2")


def check_all_reduce(
    made: WaferProgram, before: Sequence[Flits], found: Finished, npus: Sequence[int]
) -> None:
    (phase,) = made.phases
    source, destination = made.buffers(phase)
    inputs = {npu: numbers(before[npu], source) for npu in npus}
    wanted = walk_phase(made.plane, phase.paths, inputs)
    assert sorted(wanted) == [*npus]
    for npu, want in wanted.items():
        assert (numbers(found.memories[npu], destination) == want).all(), npu
        assert found.reads[npu] == {"ERROR": [0], "DROPPED": [0]}


ALL = "MP4-DP1-PP1"


@pytest.mark.parametrize(
    "between",
    [
        [strategy("MP2-DP1-PP1", generation) for generation in range(1, GENERATIONS)],
        [*(copy(0, [1], one) for one in range(1, GENERATIONS - 1)), strategy(ALL, GENERATIONS - 1)],
        [strategy("MP2-DP1-PP1", generation) for generation in range(1, 2 * GENERATIONS)],
    ],
    ids=[
        "two endpoints sit out seven",
        "two endpoints see one of seven",
        "two endpoints sit out fifteen",
    ],
)
def test_a_phase_is_as_new_when_its_generation_comes_round(
    between: Sequence[WaferProgram], tmp_path: Path
) -> None:
    """An all-reduce of four, seven other programs of the phase, and a smaller all-reduce."""
    last = strategy(ALL, len(between) + 1, size=SIZE - 4)
    before, found = run([Load(one) for one in (strategy(ALL, 0), *between, last)], tmp_path)
    check_all_reduce(last, before, found, range(WAFER.npus))


def test_destinations_that_sat_out_seven_generations_get_the_first_copy(tmp_path: Path) -> None:
    """The source is one copy ahead: destinations must not take the second for the first."""
    sent, got, before, found = run_copies([], tmp_path)
    for npu in (2, 3):
        assert (numbers(found.memories[npu], got) == numbers(before[0], sent)).all(), npu
        assert found.reads[npu] == {"ERROR": [0], "DROPPED": [0]}


def test_destinations_that_forget_no_phase_in_eight_generations_refuse_it(tmp_path: Path) -> None:
    """Their old numbers have the generation of new packets, so nothing of these is accepted."""
    _, got, before, found = run_copies([2, 3], tmp_path)
    refused = 1 << [*CAUSES].index("flow")
    assert [found.reads[npu]["ERROR"] for npu in range(4)] == [[0], [0], [refused], [refused]]
    for npu in (2, 3):
        assert (numbers(found.memories[npu], got) == numbers(before[npu], got)).all(), npu


def test_switches_that_sat_out_eight_generations_join_no_old_flow(tmp_path: Path) -> None:
    """Two switches and an NPU behind them still have the first entry, of an equal generation.

    The NPU sends in it. Its packets stay on links of which the new entry uses none.
    """
    stray = exchange("mp", (Buffer(0, FLIT * SIZE), FlowId(0)))
    others = [
        Load(strategy("MP2-DP1-PP1", generation), remember=[2, 3])
        for generation in range(1, GENERATIONS)
    ]
    last = strategy("MP2-DP1-PP1", GENERATIONS, size=SIZE - 4)
    loads = [Load(strategy(ALL, 0)), *others, Load(last, {2: [stray]}, {2: 0}, [2, 3])]
    before, found = run(loads, tmp_path)
    check_all_reduce(last, before, found, [0, 1])


def run_copies(
    remember: Sequence[int], tmp_path: Path
) -> tuple[Buffer, Buffer, list[Flits], Finished]:
    """Copy from 0 to 2 and 3, which then sit out seven generations, and again, twice.

    Return what is sent first then, where it goes, and memories before and after.
    """
    sent, ahead, got = (Buffer(FLIT * first, FLIT * SIZE) for first in (100, 130, 160))
    to, flow = [2, 3], FlowId(0, generation=GENERATIONS)
    queued = {
        0: [exchange("mp", (buffer, flow)) for buffer in (sent, ahead)],
        **{npu: [exchange("mp", None, (got, flow))] for npu in to},
    }
    others = [
        Load(strategy("MP2-DP1-PP1", generation), remember=remember)
        for generation in range(1, GENERATIONS)
    ]
    awaited = dict.fromkeys((0, *remember), 0) if remember else {0: 1}
    last = Load(copy(0, to, GENERATIONS), queued, awaited, remember)
    before, found = run([Load(copy(0, to, 0)), *others, last], tmp_path)
    return sent, got, before, found
