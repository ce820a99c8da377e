"""Execution of a campaign, and comparison of all memories."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.wafer.program import WaferProgram
from testbench.collectives.fabric import Finished, Flits
from testbench.collectives.joined import run_joined
from testbench.collectives.plane import SHOW, STEP_CYCLES, Code, PlaneRun, npu_steps
from testbench.models.golden import reduction_of, words_of
from testbench.models.golden_mesh import carry_out
from testbench.models.golden_plane import walk_phase
from testbench.models.golden_trees import all_reduce_along_trees
from testbench.sim.tools import SimulatorError

from .case import Outcome
from .fabrics import FLIT_BYTES, Campaign, MeshFabric, WaferFabric
from .plan import Operation, Plan
from .trees import Schedule

__all__ = [
    "NoEndError",
    "bound",
    "differences",
    "errors_of",
    "flits_of",
    "outcome",
    "random_memories",
    "replay",
    "simulate",
    "text_of",
]

Words = NDArray[np.unsignedinteger]


def bound(one: Campaign) -> int:
    """Return the number of cycles within which a plan must end.

    Flits one after another, each with its share of timeouts where links lose some and of memory
    that stalls at both ends; all waits, one after another; and timeouts of each job and entry.
    """
    plan, schedule, protocol = one.plan, one.schedule, one.program.link.protocol
    jobs = [job for queue in plan.queues for job in queue]
    flits = sum(side.flits for job in jobs for side in (job.sends, job.receives) if side)
    waits, count = sum(job.wait for job in jobs), len(jobs)
    if schedule:
        npus = range(schedule.program.npus)
        flits += schedule.flits
        count += sum(schedule.entries(npu).total() for npu in npus)
        waits += schedule.cycles + STEP_CYCLES * max(len(schedule.codes(npu)) for npu in npus)
    lost = plan.faults / 1_000_000
    each = 8 / (1 - plan.stalls / 100) + 4 * lost * protocol.timeout_cycles
    return int(10_000 + waits + each * flits + protocol.timeout_cycles * count)


class NoEndError(Exception):
    """A run does not end within its bound."""


def outcome(one: Campaign) -> Outcome:
    """Run a campaign; its memories must equal a replay."""
    plan, program = one.plan, one.program
    before = random_memories(plan)
    ready = STEP_CYCLES * max(map(len, program.unit_steps()), default=0)
    run = PlaneRun(
        program=program,
        steps=[_steps(one, npu, ready) for npu in range(len(plan.queues))],
        memories=before,
        faults=plan.faults,
        memory_stalls=plan.stalls,
        limit=ready + bound(one),
        seed=plan.seed + 1,
    )
    try:
        found = simulate(one.fabric, run)
    except NoEndError as error:
        return Outcome(str(error))
    return Outcome(_wrong(one, before, found), flits_of(found), found.faults)


def random_memories(plan: Plan) -> list[Flits]:
    """Return the contents of all memories before a plan."""
    rng = np.random.default_rng(plan.seed)
    return [rng.integers(0, 256, (plan.memory, FLIT_BYTES), dtype=np.uint8) for _ in plan.queues]


def simulate(fabric: WaferFabric | MeshFabric, run: PlaneRun) -> Finished:
    """Run a fabric, and count the flits that endpoints write to memory.

    Raises
    ------
    NoEndError
        The run does not end within its bound.
    SimulatorError
        The fabric cannot be built.
    """
    model = fabric.model  # without a compiler, nothing is wrong with the fabric
    writes = endpoint_map(run.program.link).register("MEMORY_WRITES").address
    counted = replace(run, steps=[[*one, (SHOW, writes, 0, 0)] for one in run.steps])
    try:
        with tempfile.TemporaryDirectory() as folder:
            return run_joined(model, counted, Path(folder), threads=1)
    except SimulatorError as error:
        message = f"fails, with a bound of {run.limit} cycles: {str(error)[:300]}"
        raise NoEndError(message) from None


def flits_of(found: Finished) -> int:
    """Return the flits that endpoints have written to memory since they were reset."""
    return sum(sum(reads["MEMORY_WRITES"]) for reads in found.reads)


def _steps(one: Campaign, npu: int, ready: int) -> list[Code]:
    """Return what the driver of an endpoint does: jobs, and the schedule before or after them."""
    plan, program, schedule = one.plan, one.program, one.schedule
    fsms = program.link.endpoint.fsms
    jobs = [(job.wait, plan.descriptor(npu, job, FLIT_BYTES, fsms)) for job in plan.queues[npu]]
    if not schedule:
        return npu_steps(program, npu, jobs, ready)
    table = schedule.codes(npu)
    before, behind = (table, []) if schedule.first else ([], table)
    return npu_steps(program, npu, jobs, ready, before, behind, schedule.entries(npu))


def _wrong(one: Campaign, before: list[Flits], found: Finished) -> str:
    if what := errors_of(found):
        return what
    wanted = [words_of(memory, one.program.link) for memory in before]
    used = one.plan.used()
    for number, each in enumerate(one.plan.operations):
        if number in used:
            replay(one, each, wanted)
    if one.schedule:
        _replay_schedule(one.schedule, wanted)
    for npu, want in enumerate(wanted):
        if what := differences(npu, words_of(found.memories[npu], one.program.link), want):
            return what
    return ""


def errors_of(found: Finished) -> str:
    """Return which endpoints report an error; empty if none."""
    errors = [npu for npu, reads in enumerate(found.reads) if any(reads["ERROR"])]
    return f"ERROR is set at NPUs {errors}" if errors else ""


def differences(npu: int, got: Words, want: Words) -> str:
    """Return a description of differences between memories and expectation; empty if none."""
    places = np.flatnonzero((got != want).any(axis=1)).tolist()
    return f"memory of NPU {npu} is wrong at {len(places)} flits: {places[:8]}" if places else ""


def replay(one: Campaign, each: Operation, memories: list[Words]) -> None:
    """Apply an operation to all memories."""
    fsms = one.program.link.endpoint.fsms
    if each.is_ring:
        jobs = {npu: [one.plan.ring(npu, each, FLIT_BYTES, fsms)] for npu in each.sources}
        memories[:] = carry_out(jobs, memories, FLIT_BYTES, reduction_of(one.program.link))
        return
    sent = {
        npu: memories[npu][first : first + each.flits].copy()
        for npu, first in zip(each.sources, each.read, strict=True)
    }
    results = dict.fromkeys(each.destinations, sent[each.sources[0]])
    if each.phase >= 0 and isinstance(one.program, WaferProgram):
        phase = next(p for p in one.program.phases if p.number == each.phase)
        results = walk_phase(one.program.plane, phase.paths, sent)
    for npu, first in zip(each.destinations, each.write, strict=True):
        memories[npu][first : first + each.flits] = results[npu]


def _replay_schedule(schedule: Schedule, memories: list[Words]) -> None:
    """Carry out the all-reduces of a schedule, at the beginning of all memories."""
    program = schedule.program
    flits = program.size * 8 // program.link.data_width
    for _ in range(schedule.runs):
        own = [memory[:flits] for memory in memories]
        sums = all_reduce_along_trees(program.edges, own, reduction_of(program.link))
        for memory in memories:
            memory[:flits] = sums


def text_of(one: Campaign) -> str:
    """Return a campaign for readers, who can repeat it by hand."""
    if one.schedule:
        more = [one.schedule.text()]
    else:
        more = [f"  phase {p.number} on {p.circuit}: {p.flows}" for p in one.program.phases]
    return "\n".join([one.plan.text(), *more])
