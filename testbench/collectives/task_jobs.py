"""Endpoint descriptors for the tasks of an iteration, on switch planes and on meshes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fred_hw.ace.operations import Buffer, Descriptor
from fred_hw.ace.steps import EndpointProgram
from fred_hw.compiler.flows import Flow
from fred_hw.mesh.algorithm import Place
from fred_hw.mesh.collectives import collective, multicast, queued
from fred_hw.mesh.program import SECOND_CIRCUIT, MeshProgram
from fred_hw.wafer.phase import Phase
from fred_hw.wafer.program import WaferProgram
from fred_hw.wafer.tasks import Task
from testbench.models.golden import reduction_of, words_of
from testbench.models.golden_mesh import carry_out
from testbench.models.golden_phase import golden_results, numbers_of

from .compiled import build_compiled
from .fabric import Finished, Flits, Sizes
from .joined import run_joined
from .mesh_with_endpoints import build_mesh_with_ends
from .plane import STEP_CYCLES, PlaneRun, build_plane, run_plane

__all__ = ["MeshJobs", "PlaneJobs", "TaskJobs", "jobs_of"]

_SMALL = 4
"""NPUs up to which Icarus finishes a fabric before Verilator has built it."""


class TaskJobs(ABC):
    """The endpoint work of a fabric for tasks, and its expected result.

    ``program`` contains the writes of software for the fabric, ``flits`` the size of each memory,
    and ``ready`` the cycles from reset until all registers of other units are written.
    """

    program: EndpointProgram
    flits: int
    ready: int

    @property
    def simulator(self) -> str:
        """Simulator that runs the tasks."""
        return "icarus" if self.program.npus <= _SMALL else "verilator"

    @abstractmethod
    def descriptors(self, npu: int, task: Task) -> list[Descriptor]:
        """Return the descriptors that an endpoint queues for a communication.

        Raises
        ------
        ValueError
            The fabric cannot do it.
        """

    def last_flit(self, npu: int, task: Task) -> int:
        """Return the memory position of the last flit of a message that an NPU receives."""
        (one,) = self.descriptors(npu, task)
        return (one.destination.address + one.destination.size) // (
            self.program.link.data_width // 8
        ) - 1

    @abstractmethod
    def wrong(
        self, tasks: Sequence[Sequence[Task]], before: Sequence[Flits], found: Finished
    ) -> str:
        """Return what is wrong in the memories after all tasks; empty if all is right."""

    @abstractmethod
    def simulate(self, size: Sizes, run: PlaneRun, work: Path) -> Finished:
        """Build the fabric and run it."""


class PlaneJobs(TaskJobs):
    """Tasks on a plane whose switches reduce: one descriptor each, in the phase of its flow.

    Parameters
    ----------
    program : WaferProgram
        Program of the plane, with collectives in the network and the size of the largest task.
    """

    def __init__(self, program: WaferProgram) -> None:
        self.program = self._made = program
        self.flits = 2 * program.numbers * program.size // (program.link.data_width // 8)
        self.ready = 300 if program.npus <= _SMALL else 1600
        if program.endpoints > program.npus:  # needs more phases
            self.ready = STEP_CYCLES * max(map(len, program.unit_steps()))
        self._phases: dict[object, Phase] = {
            (tuple(sorted(flow.inputs)), tuple(sorted(flow.outputs))): phase
            for phase in program.phases
            for flow in phase.flows
        }

    def descriptors(self, npu: int, task: Task) -> list[Descriptor]:
        phase = self._phases.get(task.flow)
        if phase and len(phase.entries) > 1:
            raise ValueError(
                f"phase {phase.name} of {self._made.strategy} must have flows that are all "
                f"active at once, not in {len(phase.rounds)} rounds"
            )
        found = self._made.descriptors(npu, phase) if phase else []
        if not found:
            raise ValueError(
                f"task {task.name} must be a flow of a phase of {self._made.strategy}, not "
                f"{list(task.inputs)} -> {list(task.outputs)}"
            )
        (one,) = found  # switches do everything else
        source, destination = (
            Buffer(buffer.address, min(buffer.size, task.size))
            for buffer in (one.source, one.destination)
        )
        return [replace(one, source=source, destination=destination)]

    def wrong(
        self, tasks: Sequence[Sequence[Task]], before: Sequence[Flits], found: Finished
    ) -> str:
        """Compare the result of each flow's largest task at each NPU."""
        program = self._made
        for phase in program.phases:
            _, destination = program.buffers(phase)
            flows = {(tuple(sorted(f.inputs)), tuple(sorted(f.outputs))) for f in phase.flows}
            for npu, want in golden_results(program, phase, before).items():
                size = max((one.size for one in tasks[npu] if one.flow in flows), default=0)
                got = numbers_of(program, found.memories[npu], Buffer(destination.address, size))
                if (got != want[: len(got)]).any():
                    return f"{phase.name}: what NPU {npu} has received"
        return ""

    def simulate(self, size: Sizes, run: PlaneRun, work: Path) -> Finished:
        small = self.simulator == "icarus"
        build, go = (build_plane, run_plane) if small else (build_compiled, run_joined)
        wafer = self._made.plane.wafer
        return go(build(wafer, size), run, work)


class MeshJobs(TaskJobs):
    """Tasks on a mesh, whose endpoints reduce: rings, and successive unicasts.

    Each flow of an NPU has two buffers of its own: one to send from, and one to receive into.

    Parameters
    ----------
    program : MeshProgram
        Program of the mesh, without phases, with the size of the largest task.
    tasks : sequence of sequence of Task
        Tasks of each NPU.
    """

    ready = 0

    def __init__(self, program: MeshProgram, tasks: Sequence[Sequence[Task]]) -> None:
        self.program = self._made = program
        self._places = [
            {flow: k for k, flow in enumerate(dict.fromkeys(t.flow for t in own if t.size))}
            for own in tasks
        ]
        most = max(map(len, self._places), default=0)
        self.flits = 2 * most * program.size // (program.link.data_width // 8)

    def descriptors(self, npu: int, task: Task) -> list[Descriptor]:
        first = 2 * self._places[npu][task.flow] * self.program.size
        together = task.inputs == task.outputs
        place = Place(
            mesh=self._made.mesh,
            source=Buffer(first, task.size),
            destination=Buffer(first + self.program.size, task.size),
            circuits=(task.circuit, SECOND_CIRCUIT[task.circuit]),
        )
        if together:
            kind = self._made.algorithm
            # A pair has only one direction around the ring.
            kind = "ring" if kind == "bidirectional_ring" and len(task.inputs) < 3 else kind
            lanes = collective(place, task.inputs, "all_reduce", kind)
        else:
            lanes = multicast(place, [Flow(task.inputs, task.outputs)])
        return queued(lanes, npu)

    def wrong(
        self, tasks: Sequence[Sequence[Task]], before: Sequence[Flits], found: Finished
    ) -> str:
        """Compare the full contents of each memory."""
        program = self.program
        jobs = {
            npu: [one for task in own if task.size for one in self.descriptors(npu, task)]
            for npu, own in enumerate(tasks)
        }
        words = [words_of(one, program.link) for one in before]
        flit = program.link.data_width // 8
        after = carry_out(jobs, words, flit, reduction_of(program.link))
        for npu, want in enumerate(after):
            if (words_of(found.memories[npu], program.link) != want).any():
                return f"what NPU {npu} has at the end"
        return ""

    def simulate(self, size: Sizes, run: PlaneRun, work: Path) -> Finished:
        small = self.simulator == "icarus"
        build, go = (build_mesh_with_ends, run_plane) if small else (build_compiled, run_joined)
        return go(build(self._made.mesh, size), run, work)


def jobs_of(program: EndpointProgram, tasks: Sequence[Sequence[Task]]) -> TaskJobs:
    """Return the jobs of an iteration's tasks on a fabric.

    Raises
    ------
    TypeError
        There is nothing that does them on such a fabric.
    """
    if isinstance(program, WaferProgram):
        return PlaneJobs(program)
    if isinstance(program, MeshProgram):
        return MeshJobs(program, tasks)
    raise TypeError(f"program must be of a wafer or a mesh, not {program!r}")
