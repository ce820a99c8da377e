"""`--rtl` of `fred estimate`: the same iteration in RTL simulation."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError

from .cosimulation import load_testbench, simulating
from .output import table
from .progress import progress
from .rtl_hardware import Hardware, load_hardware

__all__ = [
    "MEMORY_CYCLES",
    "RtlRun",
    "hardware_tasks",
    "print_rtl",
    "run_in_rtl",
    "with_rtl",
]

MAX_CYCLES = 10_000_000
"""Largest estimated length of an iteration that is co-simulated [cycles]."""

MEMORY_CYCLES = 40
"""Latency from a read of an NPU's memory to its data [cycles]."""

_THREADS = ("", "mp", "dp", "pp")
"""Threads of an NPU in a timeline: compute, and one per virtual channel."""

_SORTED = 2
"""Timeline processes per NPU: the estimate, with the hardware below it."""


@dataclass(frozen=True)
class RtlRun:
    """An iteration in RTL simulation with its estimate.

    Parameters
    ----------
    hardware : Hardware
        The hardware.
    simulator : str
        Name of the simulator.
    link_cycles, memory_cycles : int
        Latency of each link in one direction, and from a read of memory to its data [cycles].
    cycles : int
        Duration of the iteration in hardware.
    model_s : float
        Duration in the estimate [s].
    tasks, times, circuits : sequence of sequence
        Tasks of each NPU in hardware, start and end of each [cycles], and its virtual channel,
        which is empty for compute.
    minutes : float
        Processor time of the co-simulation [min].
    """

    hardware: Hardware
    simulator: str
    link_cycles: int
    memory_cycles: int
    cycles: int
    model_s: float
    tasks: Sequence[Sequence[Any]]
    times: Sequence[Sequence[tuple[int, int]]]
    circuits: Sequence[Sequence[str]]
    minutes: float

    @property
    def clock_hz(self) -> float:
        """Clock frequency of the hardware [Hz]."""
        return self.hardware.clock_hz

    @property
    def time_s(self) -> float:
        """Duration of the iteration in RTL simulation [s]."""
        return self.cycles / self.clock_hz

    def to_dict(self) -> dict[str, Any]:
        """Return the values that ``--json`` prints."""
        return {
            "wafer": self.hardware.source,
            "simulator": self.simulator,
            "clock_hz": self.clock_hz,
            "cycles": self.cycles,
            "iteration_time_s": self.time_s,
            "model_s": self.model_s,
            "ratio": self.model_s / self.time_s,
        }


def run_in_rtl(source: str, found: Any, *, recorded: bool = False) -> RtlRun:
    """Co-simulate an iteration on hardware.

    Parameters
    ----------
    source : str
        File of the hardware.
    found : Simulated
        The simulated iteration; hardware runs the algorithm of its request.
    recorded : bool
        Whether a record of it will be written.

    Raises
    ------
    InputError
        The hardware does not match the topology, or cannot do what the iteration needs.
    """
    iteration, request = found.iteration, found.request
    hardware = load_hardware(source)
    hardware.check(request.topology)
    groups = _groups(iteration.placement)
    does = hardware.algorithm(request.topology, groups, request.algorithm)
    if recorded and hardware.controllers:
        message = (
            "must be of hardware without endpoints at I/O controllers: a record holds only NPUs"
        )
        raise InputError("--record", "", message)
    estimated = iteration.time_s * hardware.clock_hz
    if estimated > MAX_CYCLES:
        message = (
            f"must be of an iteration that takes at most {MAX_CYCLES:,} cycles "
            f"({MAX_CYCLES / hardware.clock_hz * 1e3:.1f} ms), not {estimated:,.0f}"
        )
        raise InputError("--rtl", "", message)
    tasks, link_cycles = hardware_tasks(hardware, found)
    limit = 4 * round(estimated) + 20_000
    begun_s = sum(os.times()[:4])
    run = _simulate(hardware, iteration.placement.strategy, does, tasks, link_cycles, limit)
    minutes = (sum(os.times()[:4]) - begun_s) / 60
    ran = run.simulator, link_cycles, MEMORY_CYCLES, run.cycles, iteration.time_s
    return RtlRun(hardware, *ran, tasks, run.times, run.circuits, minutes)


def hardware_tasks(hardware: Hardware, found: Any) -> tuple[list[list[Any]], int]:
    """Return the tasks of all endpoints in an iteration, and the cycles of a link.

    Parameters
    ----------
    hardware, found : Hardware, Simulated
        Hardware that executes the tasks, and the simulated iteration.

    Raises
    ------
    InputError
        The hardware cannot do what the iteration needs.
    """
    from tracemodel.api import iteration_traces

    request = found.request
    streams = request.workload.mode == "streaming"
    tasks = _tasks(hardware, request.strategy, iteration_traces(found), streams=streams)
    link_cycles = max(1, round(request.topology.links[0].latency_s * hardware.clock_hz))
    return _with_circuits(tasks, found.iteration.placement), link_cycles


def _tasks(hardware: Hardware, strategy: Any, traces: Any, *, streams: bool) -> list[list[Any]]:
    """Return the tasks of all endpoints; with ``streams``, weights come from storage."""
    from tracemodel.api import plane_tasks

    try:
        storage = hardware.storage(strategy, streams) if hardware.storage else None
    except ValueError as error:
        raise InputError("--rtl", "", str(error)) from None
    try:
        return plane_tasks(
            traces.ranks,
            traces.groups,
            clock_hz=hardware.clock_hz,
            planes=hardware.planes,
            flit_bytes=hardware.flit_bytes,
            full_flit_bytes=hardware.full_flit_bytes,
            storage=storage,
            endpoints=hardware.npus + hardware.controllers,
        )
    except InputError as error:
        raise InputError("--rtl", error.field, error.message) from None


def _with_circuits(tasks: Any, placement: Any) -> list[list[Any]]:
    """Return tasks with virtual channels: all-reduces by group, and messages of PP."""
    stages = range(placement.strategy.pp)
    groups = {tuple(sorted(one)) for stage in stages for one in placement.mp_groups(stage)}

    def circuit(task: Any) -> str:
        if task.cycles:
            return ""
        together = task.inputs == task.outputs
        return ("mp" if task.inputs in groups else "dp") if together else "pp"

    return [[replace(task, circuit=circuit(task)) for task in own] for own in tasks]


def _groups(placement: Any) -> list[Sequence[int]]:
    """Return the groups of all all-reduces."""
    stages = range(placement.strategy.pp)
    every = [one for s in stages for one in (*placement.mp_groups(s), *placement.dp_groups(s))]
    return [one for one in every if len(one) > 1]


def _simulate(
    hardware: Hardware, strategy: Any, algorithm: str, tasks: Any, link_cycles: int, limit: int
) -> Any:
    """Return the result of simulating the tasks of all NPUs."""
    load_testbench("verilator")
    from testbench.collectives.fabric import Sizes
    from testbench.collectives.iteration_in_rtl import run_tasks

    size = Sizes(link_cycles=link_cycles, memory_cycles=MEMORY_CYCLES)
    with simulating(), progress(f"co-simulating {strategy} on {hardware.words}"):
        try:
            largest = max(task.size for one in tasks for task in one)
            program = hardware.program(strategy, largest, algorithm)
            with tempfile.TemporaryDirectory() as work:
                return run_tasks(program, tasks, Path(work), size=size, limit=limit)
        except ValueError as error:
            raise InputError("--rtl", "", str(error)) from None


def print_rtl(rtl_run: RtlRun) -> None:
    """Print the results of hardware and estimate."""
    cycles = rtl_run.model_s * rtl_run.clock_hz
    rows = [
        ("hardware", f"{rtl_run.cycles:,}", f"{rtl_run.time_s * 1e6:,.2f} us"),
        ("estimate", f"{cycles:,.0f}", f"{rtl_run.model_s * 1e6:,.2f} us"),
        ("estimate / hardware", "", f"{rtl_run.model_s / rtl_run.time_s:.4f}"),
    ]
    where = f"{rtl_run.hardware.words}, {rtl_run.hardware.source}"
    table(f"iteration on {where}, {rtl_run.simulator}", ("", "cycles", "time"), rows)


def with_rtl(trace: Mapping[str, Any], rtl_run: RtlRun) -> dict[str, Any]:
    """Return a timeline with an additional process per NPU for the hardware."""
    events = [dict(one) for one in trace["traceEvents"]]
    npus = len(rtl_run.tasks)
    for one in events:
        if one["ph"] == "M" and one["name"] == "process_name":
            one["args"] = {"name": f"{one['args']['name']}, estimate"}
    for npu in range(npus):
        own = ((npu, 0),) if npu < rtl_run.hardware.npus else ()
        for pid, place in (*own, (npus + npu, 1)):
            sort = {"sort_index": _SORTED * npu + place}
            events.append({"ph": "M", "name": "process_sort_index", "pid": pid, "args": sort})
        what = "NPU" if npu < rtl_run.hardware.npus else "I/O controller"
        name = {"name": f"{what} {npu}, hardware"}
        events.append({"ph": "M", "name": "process_name", "pid": npus + npu, "args": name})
        for place, thread in enumerate(_THREADS):
            said = {"name": thread or "compute"}
            pid = npus + npu
            events.append(
                {"ph": "M", "name": "thread_name", "pid": pid, "tid": place, "args": said}
            )
        of = zip(rtl_run.tasks[npu], rtl_run.times[npu], rtl_run.circuits[npu], strict=True)
        for task, (begin, end), circuit in of:
            events.append(
                {
                    "ph": "X",
                    "name": task.name,
                    "cat": "hardware",
                    "pid": npus + npu,
                    "tid": _THREADS.index(circuit),
                    "ts": begin / rtl_run.clock_hz * 1e6,
                    "dur": (end - begin) / rtl_run.clock_hz * 1e6,
                }
            )
    return {**trace, "traceEvents": events}
