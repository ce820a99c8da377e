"""Sweeps of traces: every combination of traces, networks, systems and options."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.file_kinds import TRACE_SWEEP
from fred_hw.files import EachOnce, FileModel, int_range, load_model, name_in
from fred_hw.progress import track
from fred_hw.reading import SUFFIXES
from perfmodel.astra.engine.stats import RankTimes
from perfmodel.astra.estimate import Inputs, estimate_traces
from perfmodel.astra.transport import NETWORK_MODELS

__all__ = ["MAX_RUNS", "TraceRow", "TraceSweep", "TraceSweepFile", "load_trace_sweep", "run_traces"]

MAX_RUNS = 1_000
"""Largest number of runs of a sweep."""


class TraceSweepFile(FileModel):
    """Lists to vary: the Cartesian product of all lists is run.

    Paths are relative to this file.

    Parameters
    ----------
    traces : list of str
        Prefixes of traces, as `--workload` takes them with `--network`.
    networks : list of str
        Names or files, as `--network` takes them.
    systems : list of str
        System files.
    network_models : list of str
        As `--network-model` takes them.
    num_queues_per_dim : list of int
        Queues of each dimension of networks of ASTRA-sim.
    memory : str
        Remote memory file; none without it.
    groups : str
        Communicator groups file of all traces; none without it.
    baseline : str
        The network that others are compared with; the first by default.
    """

    file_kind = TRACE_SWEEP

    traces: Annotated[list[str], EachOnce()]
    networks: Annotated[list[str], EachOnce()]
    systems: Annotated[list[str], EachOnce()]
    network_models: Annotated[list[Annotated[str, name_in(NETWORK_MODELS)]], EachOnce()] = Field(
        default=["fluid"]
    )
    num_queues_per_dim: Annotated[list[Annotated[int, int_range(1, 1024)]], EachOnce()] = Field(
        default=[1]
    )
    memory: Annotated[str | None, Field(examples=["astra-memory.yaml"])] = None
    groups: Annotated[str | None, Field(examples=["astra-groups.yaml"])] = None
    baseline: Annotated[str | None, Field(examples=["mesh:5x4"])] = None


@dataclass(frozen=True)
class TraceSweep:
    """A sweep file and its location."""

    path: Path
    file: TraceSweepFile

    @property
    def baseline(self) -> str:
        """The network with which others are compared."""
        return self.file.baseline or self.file.networks[0]


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A run with its result.

    Parameters
    ----------
    traces, system, network_model : str
        What ran, as the file has it.
    num_queues_per_dim : int
        Queues of each dimension.
    network : str
        Where it ran.
    last : RankTimes or None
        Where the time of the rank that ends last goes; None if the traces cannot run there.
    speedup : float or None
        Time on the baseline divided by that here; None if either cannot run.
    problem : str
        Why they cannot run; empty if they can.
    """

    traces: str
    system: str
    network_model: str
    num_queues_per_dim: int
    network: str
    last: RankTimes | None
    speedup: float | None
    problem: str


def load_trace_sweep(path: Path) -> TraceSweep:
    """Return the sweep that a file describes.

    Raises
    ------
    InputError
        The file is bad, its baseline is none of its networks, or there are more than ``MAX_RUNS``
        runs.
    """
    file = load_model(TraceSweepFile, path)
    sweep = TraceSweep(path, file)
    if sweep.baseline not in file.networks:
        allowed = ", ".join(file.networks)
        message = f"must be one of {allowed}, not {sweep.baseline!r:.60}"
        raise InputError(str(path), "baseline", message)
    runs = len([*_groups(file)]) * len(file.networks)
    if runs > MAX_RUNS:
        raise InputError(str(path), "", f"must have at most {MAX_RUNS:,} runs, not {runs:,}")
    return sweep


def run_traces(sweep: TraceSweep) -> tuple[TraceRow, ...]:
    """Run all traces of a sweep in order.

    Raises
    ------
    InputError
        None can run.
    """
    found: list[TraceRow] = []
    for group in track([*_groups(sweep.file)], "runs"):
        times: dict[str, RankTimes | InputError] = {}
        for network in sweep.file.networks:
            try:
                times[network] = _run(sweep, group, network)
            except InputError as error:
                times[network] = error
        found += _rows(group, times, sweep.baseline)
    if not any(row.last for row in found):
        message = f"must have a run that ends well; the first does not: {found[0].problem}"
        raise InputError(str(sweep.path), "", message)
    return tuple(found)


_Group = tuple[str, str, str, int]
"""Traces, system, network model and queues, equal for runs that are compared."""


def _groups(file: TraceSweepFile) -> Iterator[_Group]:
    yield from product(file.traces, file.systems, file.network_models, file.num_queues_per_dim)


def _run(sweep: TraceSweep, group: _Group, network: str) -> RankTimes:
    """Return the time of the last rank by activity."""
    traces, system, model, queues = group
    folder, file = sweep.path.parent, sweep.file
    inputs = Inputs(
        folder / system,
        folder / file.memory if file.memory else None,
        (folder / file.groups,) if file.groups else (),
        model,
        queues=queues,
    )
    there = str(folder / network) if network.endswith(SUFFIXES) else network
    (found,) = estimate_traces(str(folder / traces), [there], inputs)
    return max(found.ranks, key=lambda rank: rank.total_ns)


def _rows(
    group: _Group, times: dict[str, RankTimes | InputError], baseline: str
) -> Sequence[TraceRow]:
    base = times[baseline]
    rows: list[TraceRow] = []
    for network, one in times.items():
        if isinstance(one, InputError):
            rows.append(TraceRow(*group, network, None, None, str(one)))
            continue
        speedup = None
        if isinstance(base, RankTimes) and one.total_ns:
            speedup = base.total_ns / one.total_ns
        rows.append(TraceRow(*group, network, one, speedup, ""))
    return rows
