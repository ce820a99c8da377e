"""Validation of the model against RTL simulation: a whole training iteration."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from fred_hw.files import load_model
from fred_hw.wafer.tasks import Task
from perfmodel.switch_timing.measured_record import Clock, Measured, as_tuple
from perfmodel.switch_timing.record import RECORDS
from perfmodel.topology.files import build_topology
from perfmodel.training.estimate import Simulated, simulate
from perfmodel.training.iteration import Iteration
from perfmodel.training.request import Request
from perfmodel.workloads.workload import build_workload

__all__ = [
    "KINDS",
    "SHIPPED_ITERATIONS",
    "IterationRecord",
    "Lane",
    "Span",
    "load_iteration",
    "model_lanes",
    "rtl_lanes",
    "simulated",
    "tasks_hash",
]

SHIPPED_ITERATIONS = ("iteration-wafer-20", "iteration-mesh-5x4")
"""Iteration records included in the package."""

KINDS = ("compute", "mp", "dp", "pp")
"""Activities of an NPU in a span."""

Cycle = Annotated[int, Field(ge=0, lt=1 << 40)]
Number = Annotated[int, Field(ge=0, lt=1 << 16)]
_Span = Annotated[tuple[Number, Number, Cycle, Cycle], BeforeValidator(as_tuple)]
_Spans = Annotated[tuple[_Span, ...], BeforeValidator(as_tuple)]


class IterationRecord(Measured[Literal["fred-iteration-cycles/1"]]):
    """Co-simulation measurements of a training iteration.

    Parameters
    ----------
    fabric : str
        What the hardware is, in words.
    command : str
        That measured it.
    hardware, changes : dict
        What the file of the hardware says, and what of it was changed for the simulation.
    topology, workload : dict
        What the files of the model say of the same fabric, and of what is trained.
    strategy, placement, algorithm, compute : str
        See ``simulate``.
    tasks_sha256 : str
        Of what the NPUs were to do, see ``tasks_hash``.
    link_cycles, memory_cycles : int
        Of each link in one direction, and from a read of memory to its data [cycles].
    clock : Clock
        Clock frequency [Hz] and its source.
    cycles : int
        The iteration takes [cycles].
    names : tuple of str
        Of tasks.
    npus : tuple of tuple of _Span
        Of each NPU what it did: place of its name, place in ``KINDS``, begin and end [cycles].
    """

    fabric: str
    command: str
    hardware: dict[str, Any]
    changes: dict[str, Any]
    topology: dict[str, Any]
    workload: dict[str, Any]
    strategy: str
    placement: str
    algorithm: str
    compute: str
    tasks_sha256: str
    link_cycles: Cycle
    memory_cycles: Cycle
    clock: Clock
    cycles: Annotated[int, Field(ge=1, lt=1 << 40)]
    names: Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
    npus: Annotated[tuple[_Spans, ...], BeforeValidator(as_tuple), Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> "IterationRecord":
        for npu, spans in enumerate(self.npus):
            for name, kind, begin, end in spans:
                known = name < len(self.names) and kind < len(KINDS)
                if not known or not begin <= end <= self.cycles:
                    raise ValueError(
                        f"npus.{npu} must have spans of a name, a kind, and a begin and an end "
                        f"within {self.cycles} cycles, not {[name, kind, begin, end]}"
                    )
        return self

    @property
    def time_s(self) -> float:
        """Duration of the iteration [s]."""
        return self.cycles / self.clock.hz


@dataclass(frozen=True, slots=True)
class Span:
    """A task of an NPU, with its start and end.

    Parameters
    ----------
    name, kind : str
        What it is, and one of ``KINDS``.
    begin_s, end_s : float
        Time from the begin of the iteration [s].
    """

    name: str
    kind: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Lane:
    """All tasks of one NPU.

    Parameters
    ----------
    npu, stage : int
        Its number, and that of its pipeline stage.
    spans : tuple of Span
        In the order of their begins.
    """

    npu: int
    stage: int
    spans: tuple[Span, ...]

    def busy_s(self, kind: str) -> float:
        """Return the time in which at least one task of a kind is running [s]."""
        total, until = 0.0, 0.0
        for one in self.spans:
            if one.kind == kind:
                total += max(0.0, one.end_s - max(one.begin_s, until))
                until = max(until, one.end_s)
        return total


def load_iteration(name_or_path: str | Path) -> IterationRecord:
    """Return the iteration record in a file or of a built-in name.

    Parameters
    ----------
    name_or_path : str or Path
        One of ``SHIPPED_ITERATIONS``, or the path of a JSON file.

    Raises
    ------
    InputError
        It cannot be read, or is no valid record; names the field.
    """
    shipped = name_or_path in SHIPPED_ITERATIONS
    path = RECORDS / f"{name_or_path}.json" if shipped else Path(name_or_path)
    return load_model(IterationRecord, path)


def simulated(record: IterationRecord) -> Simulated:
    """Return the iteration of a record as simulated by the current model.

    Raises
    ------
    InputError
        The record has a topology or a workload that is not allowed.
    """
    request = Request.of(
        build_topology(record.topology, record.name),
        build_workload(record.workload, record.name),
        record.strategy,
        compute=record.compute,
        placement=record.placement,
        algorithm=record.algorithm,
        network_model="packet",
    )
    return simulate(request, repeats=False)


def model_lanes(iteration: Iteration) -> dict[int, Lane]:
    """Return the tasks of each NPU in a simulated iteration, without storage."""
    placement, run = iteration.placement, iteration.run
    found: dict[int, Lane] = {}
    for stage in range(placement.strategy.pp):
        spans = sorted(
            (
                Span(task.name, task.kind, begin_s, end_s)
                for task, begin_s, end_s in zip(
                    iteration.tasks, run.start_s, run.end_s, strict=True
                )
                if task.place == stage and task.kind in KINDS and end_s > begin_s
            ),
            key=lambda one: one.begin_s,
        )
        for group in placement.mp_groups(stage):
            found |= {npu: Lane(npu, stage, tuple(spans)) for npu in group}
    return found


def rtl_lanes(record: IterationRecord, stages: Mapping[int, int]) -> dict[int, Lane]:
    """Return the tasks of each NPU as measured in RTL simulation.

    Parameters
    ----------
    record : IterationRecord
        What was measured.
    stages : mapping of int to int
        Pipeline stage of each NPU that takes part.
    """
    cycle_s = 1 / record.clock.hz
    return {
        npu: Lane(
            npu,
            stage,
            tuple(
                Span(record.names[name], KINDS[kind], begin * cycle_s, end * cycle_s)
                for name, kind, begin, end in sorted(record.npus[npu], key=lambda one: one[2])
            ),
        )
        for npu, stage in stages.items()
    }


def tasks_hash(tasks: Sequence[Sequence[Task]]) -> str:
    """Return the hash of the NPUs' tasks that a record stores; see ``chakra.plane``."""
    said = [
        [[one.after, one.cycles, one.inputs, one.outputs, one.size] for one in npu] for npu in tasks
    ]
    return hashlib.sha256(repr(said).encode()).hexdigest()
