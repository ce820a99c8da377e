"""Cycles of a phase of a strategy, alone on a plane whose results are checked bit for bit."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.operations import Buffer
from fred_hw.wafer.program import Phase, WaferProgram
from testbench.models.golden_phase import golden_phase
from testbench.sim.tools import SimulatorError

from .fabric import Finished, Flits
from .plane import SHOW, UNTIL, WAIT, Code, PlaneRun, codes

__all__ = ["PhaseRun", "numbers", "phase_cycles", "random_memories"]

_STEP_CYCLES = 6
"""What a driver takes at most for a write of a register that nothing holds up [cycles]."""


@dataclass(frozen=True)
class PhaseRun:
    """What came out of a phase alone.

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


def numbers(program: WaferProgram, memory: Flits, buffer: Buffer) -> NDArray[np.unsignedinteger]:
    """Return what is in a buffer as raw numbers, shape (flits, lanes)."""
    link = program.plane.wafer.link
    flit = link.data_width // 8
    first, size = buffer.address // flit, buffer.size // flit
    kind = f"<u{link.number_format.width // 8}"
    return np.ascontiguousarray(memory[first : first + size]).view(kind)


def random_memories(program: WaferProgram, seed: int) -> list[Flits]:
    """Return random bytes for all buffers of a program: infinities and NaNs among the numbers."""
    flit = program.plane.wafer.link.data_width // 8
    flits = 2 * (max(one.number for one in program.phases) + 1) * program.size // flit
    rng = np.random.default_rng(seed)
    npus = range(program.plane.wafer.npus)
    return [rng.integers(0, 256, (flits, flit), dtype=np.uint8) for _ in npus]


def phase_cycles(
    program: WaferProgram, phase: Phase, run: Callable[[PlaneRun], Finished], seed: int = 1
) -> PhaseRun:
    """Do one phase of a program, with no other beside it, and return how long it takes.

    Parameters
    ----------
    program, phase : WaferProgram, Phase
        What is done; only that phase is written to switches, as their first.
    run : Callable
        Simulates a plane: ``run_plane`` or ``run_compiled_plane`` with model and folder.
    seed : int
        Of the numbers.

    Raises
    ------
    SimulatorError
        The run did not end well, an endpoint refused a descriptor, or a result is wrong.
    """
    phase = replace(phase, number=0)
    program = replace(program, phases=(phase,))
    plane = program.plane
    before = random_memories(program, seed)
    most = max(len(program.switch_steps(k)) for k in range(len(plane.chiplets)))
    steps = [_steps(program, npu, phase, _STEP_CYCLES * most) for npu in range(plane.wafer.npus)]
    limit = 10_000 + _STEP_CYCLES * most + 200 * program.size // (plane.wafer.link.data_width // 8)
    done = run(PlaneRun(program=program, steps=steps, memories=before, seed=seed, limit=limit))
    if any(any(one["ERROR"]) for one in done.reads):
        raise SimulatorError(f"{phase.name}: an endpoint has refused a descriptor")
    source, destination = program.buffers(phase)
    sent = {npu: numbers(program, memory, source) for npu, memory in enumerate(before)}
    wanted = golden_phase(program, phase, sent)
    for npu, want in wanted.items():
        if (numbers(program, done.memories[npu], destination) != want).any():
            raise SimulatorError(f"{phase.name}: what NPU {npu} has is wrong")
    parts = [times for times in done.times if len(times) == 2]
    cycles = max(last for _, last in parts) - min(first for first, _ in parts)
    return PhaseRun(cycles, sum(len(want) for want in wanted.values()))


def _steps(program: WaferProgram, npu: int, phase: Phase, ready: int) -> list[Code]:
    """Return what the driver of an endpoint does; of a part it shows ERROR before and behind."""
    error = endpoint_map(program.plane.wafer.link).register("ERROR").address
    steps = [*codes(program.begin_steps(npu)), (WAIT, 0, ready, 0)]
    parts = program.descriptors(npu, phase)
    for number, descriptor in enumerate(parts):
        *writes, command, prepared = codes(program.descriptor_steps(descriptor))
        steps += [*writes, *[(SHOW, error, 0, 0)] * (number == 0), command, prepared]
    if parts:
        steps.append((UNTIL, program.completed(phase.circuit), len(parts), 0xFFFFFFFF))
    return [*steps, (SHOW, error, 0, 0)]
