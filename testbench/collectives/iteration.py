"""A training iteration on a plane: compute as time that passes, and communication as flits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.operations import Buffer, Descriptor
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.wafer.program import Phase, WaferProgram
from fred_hw.wafer.tasks import Task
from testbench.models.golden_phase import golden_results, numbers_of
from testbench.sim.tools import SimulatorError

from .fabric import Finished, Sizes
from .plane import (
    LEAST,
    MARK,
    SHOW,
    WAIT,
    Code,
    PlaneRun,
    build_plane,
    codes,
    run_plane,
)

__all__ = ["IterationRun", "Mark", "TaskSteps", "run_tasks", "task_steps", "task_times"]

_READY, _READY_SMALL = 1600, 300
"""Cycles from reset until all routes and phases are written."""

_SMALL = 4
"""NPUs of planes that Icarus has done with before Verilator has built them."""


@dataclass(frozen=True)
class Mark:
    """A task of an NPU begins or has ended here."""

    task: int
    ended: bool


@dataclass(frozen=True)
class TaskSteps:
    """What the driver of an endpoint does, what each of its marks says, and where tasks went.

    Parameters
    ----------
    steps : list of Code
        What it does.
    marks : list of Mark
        In the order in which it comes to them.
    circuits : list of str
        Circuit of each task; empty for compute.
    """

    steps: list[Code]
    marks: list[Mark]
    circuits: list[str]


def task_steps(program: WaferProgram, npu: int, tasks: Sequence[Task], ready: int) -> TaskSteps:
    """Return what the driver of an endpoint does for its tasks, one after the other.

    It is what software on an NPU would do that has one thread: a task begins when those that it
    is after have ended, and is waited for when another is after it. A communication is queued
    and goes on by itself; those of a circuit end in the order in which they are queued.

    Parameters
    ----------
    program : WaferProgram
        Of the plane, collectives in the network; flows of tasks are those of its phases.
    npu : int
        Number of the endpoint.
    tasks : sequence of Task
        What it does; tasks of all NPUs must be queued in one order on each circuit.
    ready : int
        Cycles until routes and phases are written.

    Raises
    ------
    ValueError
        No phase has the flow of a task.
    """
    return _Writer(program, npu, ready).write(tasks)


class _Writer:
    def __init__(self, program: WaferProgram, npu: int, ready: int) -> None:
        self._program, self._npu = program, npu
        self._phases = {
            (tuple(sorted(flow.inputs)), tuple(sorted(flow.outputs))): phase
            for phase in program.phases
            for flow in phase.flows
        }
        self._steps = [*codes(program.begin_steps(npu)), (WAIT, 0, ready, 0)]
        self._marks: list[Mark] = []
        self._queued: dict[str, list[int]] = {name: [] for name in DATA_CIRCUITS}
        self._ended: dict[str, int] = dict.fromkeys(DATA_CIRCUITS, 0)

    def write(self, tasks: Sequence[Task]) -> TaskSteps:
        circuits: list[str] = []
        for place, task in enumerate(tasks):
            # Collectives of its own NPU's turn are over before what is queued ahead of time.
            for one in sorted(task.after, reverse=True):
                if circuits[one]:
                    self._wait(circuits[one], one)
            self._mark(place, ended=False)
            if task.cycles:
                self._steps.append((WAIT, 0, task.cycles, 0))
                self._mark(place, ended=True)
                circuits.append("")
                continue
            descriptor = self._descriptor(task)
            circuits.append(descriptor.circuit)
            self._steps += codes(self._program.descriptor_steps(descriptor))
            self._queued[descriptor.circuit].append(place)
        for name in DATA_CIRCUITS:
            self._wait(name)
        error = endpoint_map(self._program.plane.wafer.link).register("ERROR").address
        return TaskSteps([*self._steps, (SHOW, error, 0, 0)], self._marks, circuits)

    def _wait(self, name: str, place: int | None = None) -> None:
        """Wait until a task that is queued on a circuit has ended, or all are."""
        queued, ended = self._queued[name], self._ended[name]
        count = len(queued) if place is None else queued.index(place) + 1
        if ended >= count:
            return
        self._steps.append((LEAST, self._program.completed(name), count, 0xFFFFFFFF))
        for one in queued[ended:count]:
            self._mark(one, ended=True)
        self._ended[name] = count

    def _mark(self, task: int, *, ended: bool) -> None:
        self._steps.append((MARK, 0, 0, 0))
        self._marks.append(Mark(task, ended))

    def _descriptor(self, task: Task) -> Descriptor:
        phase: Phase | None = self._phases.get(task.flow)
        found = self._program.descriptors(self._npu, phase) if phase else []
        if not found:
            raise ValueError(
                f"task {task.name} must be a flow of a phase of {self._program.strategy}, not "
                f"{list(task.inputs)} -> {list(task.outputs)}"
            )
        (one,) = found  # switches do all else
        source, destination = (
            Buffer(buffer.address, min(buffer.size, task.size))
            for buffer in (one.source, one.destination)
        )
        return replace(one, source=source, destination=destination)


def task_times(
    steps: TaskSteps, times: Sequence[int], tasks: Sequence[Task]
) -> list[tuple[int, int]]:
    """Return begin and end of each task [cycles], from when each mark was passed.

    The end of a communication is when the driver knew of it.
    """
    begins, ends = [0] * len(tasks), [0] * len(tasks)
    for mark, now in zip(steps.marks, times, strict=True):
        (ends if mark.ended else begins)[mark.task] = now
    return list(zip(begins, ends, strict=True))


@dataclass(frozen=True)
class IterationRun:
    """Tasks of a plane, as they went.

    Parameters
    ----------
    simulator : str
        That ran them.
    times : list of list of (int, int)
        Begin and end of each task of each NPU, from the begin of the first one on [cycles].
    circuits : list of list of str
        Circuit of each task of each NPU; empty for compute.
    """

    simulator: str
    times: list[list[tuple[int, int]]]
    circuits: list[list[str]]

    @property
    def cycles(self) -> int:
        """From the begin of the first task to the end of the last [cycles]."""
        return max(end for one in self.times for _, end in one)


def run_tasks(
    program: WaferProgram,
    tasks: Sequence[Sequence[Task]],
    work: Path,
    *,
    size: Sizes,
    limit: int,
    seed: int = 1,
) -> IterationRun:
    """Simulate the tasks of all NPUs, and compare all results with those of the golden model.

    Parameters
    ----------
    program : WaferProgram
        Of the plane, whose size is that of the largest task.
    tasks : sequence of sequence of Task
        Of each NPU.
    work : Path
        Folder for files of the run.
    size : Sizes
        Lengths of links and latency of memories [cycles]; memories grow with the program.
    limit : int
        Cycles after which the run has failed.
    seed : int
        Of what is in memory.

    Raises
    ------
    ValueError
        No phase has the flow of a task.
    SimulatorError
        No simulator, the run did not end, or a result is wrong.
    """
    from testbench.volume.joined import run_joined
    from testbench.volume.plane import build_compiled_plane

    wafer = program.plane.wafer
    flit = wafer.link.data_width // 8
    flits = max(size.flits, 2 * len(program.phases) * program.size // flit)
    small = wafer.npus <= _SMALL
    ready = _READY_SMALL if small else _READY
    steps = [task_steps(program, npu, one, ready) for npu, one in enumerate(tasks)]
    rng = np.random.default_rng(seed)
    before = [rng.integers(0, 256, (flits, flit), dtype=np.uint8) for _ in tasks]
    run = PlaneRun(program=program, steps=[o.steps for o in steps], memories=before, limit=limit)
    build, simulate = (build_plane, run_plane) if small else (build_compiled_plane, run_joined)
    found = simulate(build(wafer, replace(size, flits=flits)), run, work)
    _check(program, tasks, before, found)
    times = [task_times(*one) for one in zip(steps, found.marks, tasks, strict=True)]
    first = min(begin for one in times for begin, _ in one)
    return IterationRun(
        "icarus" if small else "verilator",
        [[(begin - first, end - first) for begin, end in one] for one in times],
        [one.circuits for one in steps],
    )


def _check(
    program: WaferProgram,
    tasks: Sequence[Sequence[Task]],
    before: Sequence[NDArray[np.uint8]],
    found: Finished,
) -> None:
    """Fail unless each NPU has what the largest task of each flow leaves there."""
    for phase in program.phases:
        _, destination = program.buffers(phase)
        flows = {(tuple(sorted(f.inputs)), tuple(sorted(f.outputs))) for f in phase.flows}
        for npu, want in golden_results(program, phase, before).items():
            size = max((one.size for one in tasks[npu] if one.flow in flows), default=0)
            got = numbers_of(program, found.memories[npu], Buffer(destination.address, size))
            if (got != want[: len(got)]).any():
                raise SimulatorError(f"{phase.name}: what NPU {npu} has received is wrong")
    refused = [npu for npu, one in enumerate(found.reads) if one["ERROR"] != [0]]
    if refused:
        raise SimulatorError(f"endpoints {refused} must refuse no descriptor, and have")
