"""A training iteration in RTL: compute as elapsed time, communication as flits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.steps import EndpointProgram
from fred_hw.wafer.tasks import Task
from testbench.sim.tools import SimulatorError

from .fabric import ALL_BITS, Sizes
from .plane import LEAST, MARK, SHOW, WAIT, Code, PlaneRun, codes
from .task_jobs import TaskJobs, jobs_of

__all__ = [
    "IterationRun",
    "Mark",
    "TaskSteps",
    "run_tasks",
    "task_steps",
    "task_times",
    "under_way",
]


@dataclass(frozen=True)
class Mark:
    """The start or the end of an NPU's task."""

    task: int
    ended: bool


@dataclass(frozen=True)
class TaskSteps:
    """Driver steps of an endpoint, with the meaning of each mark and the tasks' channels.

    Parameters
    ----------
    steps : list of Code
        Steps of the driver.
    marks : list of Mark
        Marks in the order in which the driver passes them.
    circuits : list of str
        Virtual channel of each task; empty for compute.
    """

    steps: list[Code]
    marks: list[Mark]
    circuits: list[str]


def task_steps(jobs: TaskJobs, npu: int, tasks: Sequence[Task]) -> TaskSteps:
    """Return the driver steps of an endpoint for its tasks, executed in order.

    It is what software with one thread on an NPU would do: a task starts when the tasks it depends
    on have ended, and software waits for it when another task depends on it. A communication is
    queued and proceeds by itself; those on one virtual channel end in the order in which they are
    queued.

    Parameters
    ----------
    jobs : TaskJobs
        Jobs of the fabric for a task.
    npu : int
        Number of the endpoint.
    tasks : sequence of Task
        Its tasks; tasks of all NPUs must be queued in the same order on each virtual channel.

    Raises
    ------
    ValueError
        The fabric cannot do a task.
    """
    return _Writer(jobs, npu).write(tasks)


class _Writer:
    def __init__(self, jobs: TaskJobs, npu: int) -> None:
        self._jobs, self._program, self._npu = jobs, jobs.program, npu
        self._steps = [*codes(self._program.begin_steps(npu)), (WAIT, 0, jobs.ready, 0)]
        self._marks: list[Mark] = []
        names = self._program.link.protocol.channels.names
        self._queued: dict[str, int] = dict.fromkeys(names, 0)
        self._ended: dict[str, int] = dict.fromkeys(names, 0)
        self._open: dict[int, dict[str, int]] = {}
        """Completion counts, by virtual channel, at which each unfinished task has ended."""

    def write(self, tasks: Sequence[Task]) -> TaskSteps:
        circuits: list[str] = []
        for place, task in enumerate(tasks):
            # Collectives of this NPU's own sequence end before those that are queued ahead of time.
            for one in sorted(task.after, reverse=True):
                self._wait(self._open.get(one, {}))
            self._mark(place, ended=False)
            if task.cycles:
                self._steps.append((WAIT, 0, task.cycles, 0))
                self._mark(place, ended=True)
                circuits.append("")
                continue
            circuits.append(self._queue(place, task))
        self._wait(self._queued)
        error = endpoint_map(self._program.link).register("ERROR").address
        return TaskSteps([*self._steps, (SHOW, error, 0, 0)], self._marks, circuits)

    def _queue(self, place: int, task: Task) -> str:
        """Queue the descriptors of a task, and return the virtual channel of the first one."""
        descriptors = self._jobs.descriptors(self._npu, task)
        for one in descriptors:
            self._steps += codes(self._program.descriptor_steps(one))
            self._queued[one.circuit] += 1
        self._open[place] = {one.circuit: self._queued[one.circuit] for one in descriptors}
        return descriptors[0].circuit

    def _wait(self, counts: Mapping[str, int]) -> None:
        """Wait for completion counts on virtual channels, and mark the tasks that have ended."""
        for name, count in counts.items():
            if self._ended[name] < count:
                self._steps.append((LEAST, self._program.completed(name), count, ALL_BITS))
                self._ended[name] = count
                self._mark_ended()

    def _mark_ended(self) -> None:
        """Mark the tasks that have ended according to the counts."""
        for place, wanted in list(self._open.items()):
            if all(self._ended[name] >= count for name, count in wanted.items()):
                del self._open[place]
                self._mark(place, ended=True)

    def _mark(self, task: int, *, ended: bool) -> None:
        self._steps.append((MARK, 0, 0, 0))
        self._marks.append(Mark(task, ended))


def task_times(
    steps: TaskSteps, times: Sequence[int], tasks: Sequence[Task]
) -> list[tuple[int, int]]:
    """Return start and end of each task [cycles], given the cycle of each mark.

    A communication ends when the driver learns of it.
    """
    begins, ends = [0] * len(tasks), [0] * len(tasks)
    for mark, now in zip(steps.marks, times, strict=True):
        (ends if mark.ended else begins)[mark.task] = now
    return list(zip(begins, ends, strict=True))


def under_way(
    jobs: TaskJobs,
    tasks: Sequence[Sequence[Task]],
    times: Sequence[Sequence[tuple[int, int]]],
    wrote: Sequence[Sequence[tuple[int, int]]],
) -> list[list[tuple[int, int]]]:
    """Return start and end of each task [cycles]; for messages, of the data transfer.

    Software queues a buffer long before there is data for it, and may be busy when a message has
    arrived. So a message starts when its sender queues it, and ends when its last flit is in
    memory, for the sender in all memories; without these cycles, when software learns of it.

    Parameters
    ----------
    jobs, tasks : TaskJobs, sequence of sequence of Task
        The executed tasks.
    times : sequence of sequence of (int, int)
        Cycles in which each task was started and known to be over.
    wrote : sequence of sequence of (int, int)
        Memory writes, as in ``Finished``.
    """
    begun: dict[object, list[int]] = {}
    came: dict[object, list[int]] = {}
    for npu, own in enumerate(tasks):
        for place, task in enumerate(own):
            if task.inputs == (npu,):
                begun.setdefault(task.flow, []).append(times[npu][place][0])
    found: list[list[tuple[int, int]]] = []
    for npu, own in enumerate(tasks):
        count: dict[object, int] = {}
        writes: dict[int, list[int]] = {}
        for flit, now in wrote[npu] if wrote else ():
            writes.setdefault(flit, []).append(now)
        found.append([])
        for task, (begin, end) in zip(own, times[npu], strict=True):
            if len(task.inputs) != 1 or task.inputs == (npu,):
                found[npu].append((begin, end))
                continue
            number = count.get(task.flow, 0)
            count[task.flow] = number + 1
            last = writes.get(jobs.last_flit(npu, task), [])
            end = min(end, last.pop(0)) if last else end
            found[npu].append((max(begin, begun[task.flow][number]), end))
            ends = came.setdefault(task.flow, [])
            ends += [0] * (number + 1 - len(ends))
            ends[number] = max(ends[number], end)
    for npu, own in enumerate(tasks):
        count = {}
        for place, task in enumerate(own):
            if task.inputs == (npu,) and task.outputs != (npu,):
                number = count.get(task.flow, 0)
                count[task.flow] = number + 1
                begin, end = found[npu][place]
                found[npu][place] = begin, min(end, came[task.flow][number])
    return found


@dataclass(frozen=True)
class IterationRun:
    """Result of running tasks on a plane.

    Parameters
    ----------
    simulator : str
        Name of the simulator.
    times : list of list of (int, int)
        Start and end of each task of each NPU, relative to the start of the first one [cycles]; see
        ``under_way``.
    circuits : list of list of str
        Virtual channel of each task of each NPU; empty for compute.
    """

    simulator: str
    times: list[list[tuple[int, int]]]
    circuits: list[list[str]]

    @property
    def cycles(self) -> int:
        """Cycles from the start of the first task to the end of the last."""
        return max(end for one in self.times for _, end in one)


def run_tasks(
    program: EndpointProgram,
    tasks: Sequence[Sequence[Task]],
    work: Path,
    *,
    size: Sizes,
    limit: int,
    seed: int = 1,
) -> IterationRun:
    """Simulate the tasks of all NPUs, and compare all results with the golden model.

    Parameters
    ----------
    program : EndpointProgram
        Program of the plane or the mesh, whose size is that of the largest task.
    tasks : sequence of sequence of Task
        Tasks of each NPU.
    work : Path
        Folder for files of the run.
    size : Sizes
        Lengths of links and latency of memories [cycles]; memories grow with the program.
    limit : int
        Cycles after which the run has failed.
    seed : int
        Seed of the contents of memories.

    Raises
    ------
    ValueError
        The fabric cannot do a task.
    SimulatorError
        No simulator, the run did not end, or a result is wrong.
    """
    jobs = jobs_of(program, tasks)
    flits = max(size.flits, jobs.flits)
    steps = [task_steps(jobs, npu, one) for npu, one in enumerate(tasks)]
    rng = np.random.default_rng(seed)
    shape = (flits, program.link.data_width // 8)
    before = [rng.integers(0, 256, shape, dtype=np.uint8) for _ in tasks]
    run = PlaneRun(program=program, steps=[o.steps for o in steps], memories=before, limit=limit)
    found = jobs.simulate(replace(size, flits=flits), run, work)
    if wrong := jobs.wrong(tasks, before, found):
        raise SimulatorError(f"{wrong} is wrong")
    refused = [npu for npu, one in enumerate(found.reads) if one["ERROR"] != [0]]
    if refused:
        raise SimulatorError(f"endpoints {refused} must refuse no descriptor, and have")
    times = [task_times(*one) for one in zip(steps, found.marks, tasks, strict=True)]
    times = under_way(jobs, tasks, times, found.wrote)
    first = min(begin for one in times for begin, _ in one)
    return IterationRun(
        jobs.simulator,
        [[(begin - first, end - first) for begin, end in one] for one in times],
        [one.circuits for one in steps],
    )
