"""Runs of traces that stop simulating once the state repeats periodically."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fred_hw.errors import InputError
from tracemodel.chakra.feeder import WINDOW
from tracemodel.rank_times import RankTimes

from .bound import FasterThanLinks
from .graph_engine import GraphEngine
from .job import Job
from .periods import Periods, find_periods, without
from .record import Record
from .setup import Setup
from .trace import Trace
from .watch import NeverAgainError, Watch

__all__ = ["Ran", "run_jobs"]

_FEW = (6, 24, 96, 384)
"""Numbers of periods to run before giving up and running all; twice the dependency depth is
added."""

_UNITS = (24, 12, 6, 4, 2, 1)
"""Units of the number of skipped periods: several periods may together form the repetition."""


@dataclass(frozen=True)
class Ran:
    """The result of a run of traces.

    Parameters
    ----------
    times : tuple of RankTimes
        Time of each rank by activity, job by job.
    faster : FasterThanLinks or None
        Collectives that the model makes faster than links allow.
    left_out : int
        Number of periods left out, since they take as long as those before them.
    figures : mapping
        Further results of the network model, by names in JSON.
    """

    times: tuple[RankTimes, ...]
    faster: FasterThanLinks | None
    left_out: int = 0
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])


def run_jobs(
    jobs: Sequence[Job],
    setup: Setup,
    model: str = "fluid",
    *,
    symmetry: bool = True,
    repeats: bool = True,
    record: Record | None = None,
) -> Ran:
    """Run the traces of the given jobs to their ends.

    Parameters
    ----------
    jobs, setup, model : sequence of Job, Setup, str
        See ``GraphEngine``.
    symmetry : bool
        Whether identical work of NPUs is simulated once.
    repeats : bool
        Whether periods of a job that is alone are left out if they are sure to take as long as
        those before them.
    record : Record or None
        Keeps what happens in a job that is alone; all nodes of all ranks run then.

    Raises
    ------
    InputError
        As for ``GraphEngine.run``.
    """
    # Nodes with traces of their own are selected by number, which periods do not compare.
    able = repeats and len(jobs) == 1 and not setup.system.per_node and not record
    able = able and model != "roce"  # its rates and queues hardly ever repeat
    for job, watch, more in _shortened(jobs[0]) if able else ():
        engine = GraphEngine((), setup, model, jobs=[job], symmetry=symmetry, watch=watch)
        try:
            times = engine.run()
        except NeverAgainError:
            continue
        except InputError:
            break  # the run of all nodes reports the error
        if watch.again:
            return Ran(times, engine.faster, more)
    engine = GraphEngine((), setup, model, jobs=jobs, symmetry=symmetry, record=record)
    return Ran(engine.run(), engine.faster, figures=engine.figures)


def _shortened(job: Job) -> Iterator[tuple[Job, Watch, int]]:
    """Yield a job with few periods, then with more, and the number of periods left out."""
    found = _aligned(job.traces)
    if not found:
        return
    least = min(one.count for one in found if one)
    depth = max(one.depth for one in found if one)
    for few in _FEW:
        few += 2 * depth
        if 2 * few > least:
            return
        unit = next(one for one in _UNITS if 2 * one <= least - few)
        more = (least - few) // unit * unit
        traces = _without(job.traces, found, more)
        if traces is None:
            return
        kept = [one and replace(one, count=one.count - more) for one in found]
        yield replace(job, traces=traces), Watch(traces, kept, more), more


def _aligned(traces: Sequence[Trace]) -> list[Periods | None]:
    """Return the periods of each trace, about as many in each; empty if no trace repeats."""
    known: dict[int, Periods | None] = {}
    for trace in traces:
        if id(trace.operations) not in known:
            known[id(trace.operations)] = find_periods(trace)
    counts = [one.count for one in known.values() if one]
    if not counts:
        return []
    least = min(counts)
    found = {key: one and one.times(round(one.count / least)) for key, one in known.items()}
    steps = {one.tag_step for one in found.values() if one and one.tag_step is not None}
    return [] if len(steps) > 1 else [found[id(trace.operations)] for trace in traces]


def _without(
    traces: Sequence[Trace], found: Sequence[Periods | None], more: int
) -> list[Trace] | None:
    """Return all traces with that many periods removed; None if one trace does not allow it."""
    known: dict[int, Trace | None] = {}
    kept: list[Trace] = []
    for trace, one in zip(traces, found, strict=True):
        key = id(trace.operations)
        if key not in known:
            if one:
                known[key] = without(trace, one, more)
            else:
                known[key] = trace if len(trace.nodes) <= WINDOW else None
        same = known[key]
        if same is None:
            return None
        kept.append(replace(same, source=trace.source, names=trace.names))
    return kept
