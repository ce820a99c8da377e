"""Cycles of a tree all-reduce on a mesh, with results checked bit for bit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.operations import Buffer
from fred_hw.ace.steps import Step
from fred_hw.mesh.tree_program import TreeProgram
from testbench.models.golden import reduction_of
from testbench.models.golden_phase import numbers_of
from testbench.models.golden_trees import all_reduce_along_trees
from testbench.sim.tools import SimulatorError

from .fabric import Finished, Flits
from .phase_cycles import random_memories
from .plane import SHOW, Code, PlaneRun, codes

__all__ = ["TreeRun", "tree_cycles"]


@dataclass(frozen=True)
class TreeRun:
    """Result of a tree all-reduce.

    Parameters
    ----------
    cycles : int
        From the first start of a schedule until software has read at the last endpoint that its
        schedule has ended [cycles].
    skew : int
        From the first start of a schedule to the last [cycles].
    flits : int
        Flits of results that were compared with the golden model.
    last_steps : tuple of int
        Step that the lockstep counter of each endpoint shows in the end.
    finished : Finished
        Memories and faults.
    """

    cycles: int
    skew: int
    flits: int
    last_steps: tuple[int, ...]
    finished: Finished


def tree_cycles(
    program: TreeProgram,
    run: Callable[[PlaneRun], Finished],
    *,
    seed: int = 1,
    faults: int = 0,
    memory_stalls: int = 0,
    limit: int | None = None,
) -> TreeRun:
    """Load the tables of all endpoints, run the endpoints together, and compare all results.

    Parameters
    ----------
    program : TreeProgram
        Program of the mesh.
    run : Callable
        Simulates the mesh: ``run_plane`` or ``run_joined`` with model and folder.
    seed, faults, memory_stalls, limit : int
        See ``PlaneRun``.

    Raises
    ------
    SimulatorError
        The run did not end well, an endpoint refused an entry, or a result is wrong.
    """
    before = random_memories(program, seed)
    most = max(len(program.load_steps(npu)) for npu in range(program.npus))
    steps = [_steps(program, npu, most) for npu in range(program.npus)]
    flits = program.size // (program.link.data_width // 8)
    done = run(
        PlaneRun(
            program=program,
            steps=steps,
            memories=before,
            seed=seed,
            faults=faults,
            memory_stalls=memory_stalls,
            limit=limit or 20_000 + 8 * most + 40 * flits + 1000 * program.steps,
        )
    )
    _check(program, before, done)
    step = endpoint_map(program.link).register("SCHEDULE_STATUS").field("step")
    steps_shown = [(one["SCHEDULE_STATUS"][-1] & step.mask) >> step.low for one in done.reads]
    first, last, _ = zip(*done.times, strict=True)
    return TreeRun(
        cycles=max(last) - min(first),
        skew=max(first) - min(first),
        flits=flits * program.npus,
        last_steps=tuple(steps_shown),
        finished=done,
    )


def _check(program: TreeProgram, before: Sequence[Flits], done: Finished) -> None:
    """Refuse a run in which an endpoint has refused an entry, or a result is wrong."""
    if errors := [npu for npu, one in enumerate(done.reads) if any(one["ERROR"])]:
        raise SimulatorError(f"NPU {errors[0]} has refused an entry")
    buffer = Buffer(0, program.size)
    want = all_reduce_along_trees(
        program.edges,
        [numbers_of(program, one, buffer) for one in before],
        reduction_of(program.link),
    )
    for npu, memory in enumerate(done.memories):
        if (numbers_of(program, memory, buffer) != want).any():
            raise SimulatorError(f"NPU {npu} has a wrong result")


def _steps(program: TreeProgram, npu: int, most: int) -> list[Code]:
    """Return the driver steps of an endpoint; all endpoints load for the same time."""
    registers = endpoint_map(program.link)
    load = program.load_steps(npu)
    idle = [load[0]] * (most - len(load))
    error, status = (
        (SHOW, registers.register(name).address, 0, 0) for name in ("ERROR", "SCHEDULE_STATUS")
    )
    steps: list[Step] = [*program.begin_steps(npu), *idle, *load]
    return [*codes(steps), error, *codes(program.run_steps()), error, status]
