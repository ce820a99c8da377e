"""`fred estimate --rtl`: the iteration on a plane of a wafer in hardware, beside the estimate."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError

from .cosimulation import load_testbench, simulating
from .output import table
from .progress import progress

__all__ = ["Beside", "beside_rtl", "say_rtl", "with_rtl"]

MAX_CYCLES = 10_000_000
"""Of an iteration that is co-simulated, by the estimate."""

_MEMORY_CYCLES = 40
"""From a read of an NPU's memory to its data."""

_SAME = 1e-6
"""Relative difference that equal rates may have."""

_SMALLER: dict[str, Any] = {
    "lanes": 1,
    "protocol": {"phases": 8},
    "endpoint": {"fsms": 1, "slots": 2},
}
"""Cycle counts do not depend on lanes, entries that are not used, and state machines of rings."""

_THREADS = ("", "mp", "dp", "pp")
"""Of an NPU in a timeline: compute, and what goes on each circuit."""

_SORTED = 2
"""Processes of a timeline for each NPU: the estimate, and the hardware below it."""


@dataclass(frozen=True)
class Beside:
    """An iteration in hardware beside its estimate.

    Parameters
    ----------
    wafer : str
        Specification of the wafer.
    simulator : str
        That ran it.
    clock_hz : float
        Of the plane [Hz].
    cycles : int
        The iteration takes in hardware.
    model_s : float
        It takes by the estimate [s].
    tasks, times, circuits : sequence of sequence
        Tasks of each NPU in hardware, begin and end of each [cycles], and its circuit; empty for
        compute.
    """

    wafer: str
    simulator: str
    clock_hz: float
    cycles: int
    model_s: float
    tasks: Sequence[Sequence[Any]]
    times: Sequence[Sequence[tuple[int, int]]]
    circuits: Sequence[Sequence[str]]

    @property
    def time_s(self) -> float:
        """What the iteration takes in hardware [s]."""
        return self.cycles / self.clock_hz

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` has of it."""
        return {
            "wafer": self.wafer,
            "simulator": self.simulator,
            "clock_hz": self.clock_hz,
            "cycles": self.cycles,
            "iteration_time_s": self.time_s,
            "model_s": self.model_s,
            "ratio": self.model_s / self.time_s,
        }


def beside_rtl(source: str, fabric: Any, job: Any, found: Any) -> Beside:
    """Co-simulate an iteration on a plane.

    Parameters
    ----------
    source : str
        File of the wafer.
    fabric, job, found : Topology, Workload, tuple
        What was estimated, and what ``simulate`` found.

    Raises
    ------
    InputError
        The wafer is not the one of the topology, or does not do what the iteration asks for.
    """
    from fred_hw.wafer.load import load_wafer
    from fred_hw.wafer.program import compile_strategy
    from gen.clock import CLOCK_HZ
    from perfmodel.chakra.iteration import iteration_traces
    from perfmodel.chakra.plane import plane_tasks

    iteration, npu, scale, _ = found
    whole, wafer = load_wafer(source), load_wafer(source, _SMALLER)
    flit_bytes = whole.link.data_width // 8
    _check(fabric, whole, flit_bytes, iteration.time_s * CLOCK_HZ)
    traces = iteration_traces(fabric, job, iteration.placement, npu, scale)
    try:
        tasks = plane_tasks(
            traces.ranks,
            traces.groups,
            clock_hz=CLOCK_HZ,
            planes=wafer.planes,
            flit_bytes=wafer.link.data_width // 8,
            full_flit_bytes=flit_bytes,
        )
    except InputError as error:
        raise InputError("--rtl", error.field, error.message) from None
    strategy = iteration.placement.strategy
    load_testbench("verilator")
    from testbench.collectives.fabric import Sizes
    from testbench.collectives.iteration import run_tasks

    link_cycles = max(1, round(fabric.links[0].latency_s * CLOCK_HZ))
    size = Sizes(link_cycles=link_cycles, memory_cycles=_MEMORY_CYCLES)
    limit = 4 * round(iteration.time_s * CLOCK_HZ) + 20_000
    with simulating(), progress(f"co-simulating {strategy} on a plane"):
        try:
            largest = max(task.size for one in tasks for task in one)
            program = compile_strategy(wafer, strategy, largest)
            with tempfile.TemporaryDirectory() as work:
                run = run_tasks(program, tasks, Path(work), size=size, limit=limit)
        except ValueError as error:
            raise InputError("--rtl", "", str(error)) from None
    found_s = iteration.time_s
    ran = run.simulator, CLOCK_HZ, run.cycles, found_s, tasks, run.times, run.circuits
    return Beside(source, *ran)


def _check(fabric: Any, wafer: Any, flit_bytes: int, cycles: float) -> None:
    """Refuse a wafer that is not the one of the topology, and too long an iteration."""
    from gen.clock import CLOCK_HZ

    if wafer.npus != fabric.npus:
        message = f"must have {fabric.npus} NPUs, as {fabric.name}, not {wafer.npus}"
        raise InputError("--rtl", "", message)
    rate = sum(one.bytes_per_s for one in fabric.links if one.source == 0)
    if abs(wafer.planes * flit_bytes * CLOCK_HZ / rate - 1) > _SAME:
        message = (
            f"must have planes and lanes that make {rate / CLOCK_HZ:g} B of a cycle at each NPU, "
            f"as {fabric.name}, not {wafer.planes} planes of {flit_bytes} B"
        )
        raise InputError("--rtl", "", message)
    if cycles > MAX_CYCLES:
        message = (
            f"must be of an iteration that takes at most {MAX_CYCLES:,} cycles "
            f"({MAX_CYCLES / CLOCK_HZ * 1e3:.1f} ms), not {cycles:,.0f}"
        )
        raise InputError("--rtl", "", message)


def say_rtl(beside: Beside) -> None:
    """Print hardware and estimate."""
    cycles = beside.model_s * beside.clock_hz
    rows = [
        ("hardware", f"{beside.cycles:,}", f"{beside.time_s * 1e6:,.2f} us"),
        ("estimate", f"{cycles:,.0f}", f"{beside.model_s * 1e6:,.2f} us"),
        ("estimate / hardware", "", f"{beside.model_s / beside.time_s:.4f}"),
    ]
    title = f"iteration on a plane of {beside.wafer}, {beside.simulator}"
    table(title, ("", "cycles", "time"), rows)


def with_rtl(trace: Mapping[str, Any], beside: Beside) -> dict[str, Any]:
    """Return a timeline with a further process for each NPU: what hardware did."""
    events = [dict(one) for one in trace["traceEvents"]]
    npus = len(beside.tasks)
    for one in events:
        if one["ph"] == "M" and one["name"] == "process_name":
            one["args"] = {"name": f"{one['args']['name']}, estimate"}
    for npu in range(npus):
        for pid, place in ((npu, 0), (npus + npu, 1)):
            sort = {"sort_index": _SORTED * npu + place}
            events.append({"ph": "M", "name": "process_sort_index", "pid": pid, "args": sort})
        name = {"name": f"NPU {npu}, hardware"}
        events.append({"ph": "M", "name": "process_name", "pid": npus + npu, "args": name})
        for place, thread in enumerate(_THREADS):
            said = {"name": thread or "compute"}
            pid = npus + npu
            events.append(
                {"ph": "M", "name": "thread_name", "pid": pid, "tid": place, "args": said}
            )
        of = zip(beside.tasks[npu], beside.times[npu], beside.circuits[npu], strict=True)
        for task, (begin, end), circuit in of:
            events.append(
                {
                    "ph": "X",
                    "name": task.name,
                    "cat": "hardware",
                    "pid": npus + npu,
                    "tid": _THREADS.index(circuit),
                    "ts": begin / beside.clock_hz * 1e6,
                    "dur": (end - begin) / beside.clock_hz * 1e6,
                }
            )
    return {**trace, "traceEvents": events}
