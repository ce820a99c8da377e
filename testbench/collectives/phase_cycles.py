"""Cycles of each phase of a strategy alone, with results checked bit for bit."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.steps import EndpointProgram
from fred_hw.mesh.program import MeshProgram
from fred_hw.progress import track
from fred_hw.wafer.program import WaferProgram
from testbench.models.golden_phase import golden_results, numbers_of
from testbench.sim.tools import SimulatorError

from .fabric import ALL_BITS, Finished, Flits
from .plane import SHOW, STEP_CYCLES, UNTIL, WAIT, Code, PlaneRun, codes

__all__ = [
    "CONFIGURATION",
    "Job",
    "PhaseRun",
    "cycles_record",
    "job_row",
    "measured_rows",
    "phase_cycles",
    "random_memories",
]

CONFIGURATION = {"link_cycles": 24, "memory_cycles": 40}
"""Delay of a link in one direction (20 ns at the records' clock), and memory latency [cycles].

The keys are those of records and of ``Sizes``."""


Job = tuple[WaferProgram | MeshProgram, Any, Mapping[str, str]]
"""A program, one of its phases, and the row fields that describe the algorithm."""


@dataclass(frozen=True)
class PhaseRun:
    """Result of running a phase alone.

    Parameters
    ----------
    cycles : int
        From the first COMMAND written at an endpoint until software has read at the last one that
        all of its descriptors are completed [cycles].
    flits : int
        Flits of results that were compared with the golden model.
    """

    cycles: int
    flits: int


def random_memories(program: EndpointProgram, seed: int, more: int = 0) -> list[Flits]:
    """Return random bytes for all buffers of a program, followed by ``more`` flits.

    Infinities and NaNs are among the numbers.
    """
    flit = program.link.data_width // 8
    flits = 2 * max(1, program.numbers) * program.size // flit + more
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (flits, flit), dtype=np.uint8) for _ in range(program.endpoints)]


def job_row(job: Job) -> dict[str, Any]:
    """Return the fields of a job's row that are known before it is measured."""
    program, phase, how = job
    flits = program.size // (program.link.data_width // 8)
    return {"strategy": str(program.strategy), "phase": phase.name, **how, "flits": flits}


def measured_rows(
    jobs: Sequence[Job], run: Callable[[PlaneRun, Path], Finished], seed: int
) -> dict[str, Any]:
    """Run each phase alone, and return the figures of its record.

    Parameters
    ----------
    jobs : sequence of Job
        Phases to run.
    run : Callable
        Simulates the fabric, with links and memories of ``CONFIGURATION``, in a folder.
    seed : int
        Seed of all random numbers.

    Raises
    ------
    SimulatorError
        As ``phase_cycles``.
    """

    def measured() -> Iterator[tuple[dict[str, Any], int]]:
        for job in track(jobs, "phases"):
            program, phase, _ = job
            with tempfile.TemporaryDirectory() as folder:
                work = Path(folder)
                done = phase_cycles(program, phase, lambda one, work=work: run(one, work), seed)
            yield {**job_row(job), "cycles": done.cycles}, done.flits

    return cycles_record(measured())


def cycles_record(measured: Iterable[tuple[Mapping[str, Any], int]]) -> dict[str, Any]:
    """Return the figures of a record: configuration, and rows with the flits that were checked.

    Raises
    ------
    ValueError
        Nothing was measured.
    """
    found = list(measured)
    if not found:
        raise ValueError("a record must have one row or more, not none")
    rows, checked = zip(*found, strict=True)
    return {**CONFIGURATION, "flits_checked": sum(checked), "rows": list(rows)}


def phase_cycles(
    program: EndpointProgram, phase: Any, run: Callable[[PlaneRun], Finished], seed: int = 1
) -> PhaseRun:
    """Run one phase of a program alone, and return its duration.

    Parameters
    ----------
    program, phase : EndpointProgram, Phase or MeshPhase
        Program and phase, on a wafer or a mesh; only that phase is written to switches.
    run : Callable
        Simulates the fabric: ``run_plane`` or ``run_joined`` with model and folder.
    seed : int
        Seed of the data.

    Raises
    ------
    SimulatorError
        The run did not end well, an endpoint refused a descriptor, or a result is wrong.
    """
    name, program = phase.name, program.alone(phase.name)
    phase, before = program.phase(name), random_memories(program, seed)
    ready = STEP_CYCLES * max(map(len, program.unit_steps()), default=0)
    steps = [_steps(program, npu, ready) for npu in range(program.endpoints)]
    limit = 10_000 + ready + 200 * program.size // (program.link.data_width // 8)
    done = run(PlaneRun(program=program, steps=steps, memories=before, seed=seed, limit=limit))
    if any(any(one["ERROR"]) for one in done.reads):
        raise SimulatorError(f"{name}: an endpoint has refused a descriptor")
    _, destination = program.buffers(phase)
    wanted = golden_results(program, phase, before)
    for npu, want in wanted.items():
        if (numbers_of(program, done.memories[npu], destination) != want).any():
            raise SimulatorError(f"{name}: NPU {npu} has a wrong result")
    parts = [times for times in done.times if len(times) == 2]
    cycles = max(last for _, last in parts) - min(first for first, _ in parts)
    return PhaseRun(cycles, sum(len(want) for want in wanted.values()))


def _steps(program: EndpointProgram, npu: int, ready: int) -> list[Code]:
    """Return the driver steps of an endpoint; for a part, with ERROR before and after."""
    error = endpoint_map(program.link).register("ERROR").address
    steps = [*codes(program.begin_steps(npu)), (WAIT, 0, ready, 0)]
    parts = program.descriptors(npu, program.phases[0])
    for number, descriptor in enumerate(parts):
        *writes, command, prepared = codes(program.descriptor_steps(descriptor))
        steps += [*writes, *[(SHOW, error, 0, 0)] * (number == 0), command, prepared]
    for circuit, count in Counter(one.circuit for one in parts).items():
        steps.append((UNTIL, program.completed(circuit), count, ALL_BITS))
    return [*steps, (SHOW, error, 0, 0)]
