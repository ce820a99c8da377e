"""Runs of studies: missing points are computed and committed to a store in batches."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fred_hw.errors import InputError
from fred_hw.progress import count

from .engine import Engine, LostError, batches_done
from .plan import Plan, chunks
from .point import OtherVersionError, Point, Row, evaluate_batch, lost_row
from .results import results_of
from .screen import Screen, figures_of, write_screened
from .shared import Numbers
from .store import Store, check_store, create_store

__all__ = ["Meter", "Progress", "Summary", "compute", "locked_store", "run_study"]

T = TypeVar("T")

COMMIT_S, COMMIT_ROWS = 2.0, 10_000
"""Largest age [s] and number of uncommitted rows: a crash loses at most these."""

BATCH_S, SCREENED_S, _BATCH_POINTS = 0.5, 0.05, 256
"""Target duration of a batch [s], the same with screening [s], and the most points of a batch."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run.

    Parameters
    ----------
    done, total : int
        Points with a row, of the points that satisfy the constraints.
    failed : int
        Points computed in this run whose row has an error.
    rate : float
        Points computed per second in this run.
    remaining_s : float or None
        Time until all are done at this rate [s]; None before the first point is computed.
    """

    done: int
    total: int
    failed: int
    rate: float
    remaining_s: float | None


@dataclass(frozen=True)
class Summary:
    """Result of a run.

    Parameters
    ----------
    points : int
        Points of the study that satisfy its constraints.
    computed, failed : int
        Rows that this run added, and those of them with an error.
    excluded : dict
        Points that each constraint removed.
    screened : int
        Points that were not computed, as their bounds exclude them.
    best : dict
        Row of the best point of the study for each objective; None if none has a figure.
    front : list
        Varied fields and objectives of the points on the Pareto front of several objectives.
    speedups : list
        Varied fields, time and speed-up over the baseline of each point that has them.
    """

    points: int
    computed: int
    failed: int
    excluded: dict[str, int]
    screened: int
    best: dict[str, Row | None]
    front: list[Row]
    speedups: list[Row]


def run_study(
    plan: Plan,
    folder: Path,
    engine: Callable[[], Engine],
    listener: Callable[[Progress], object] = lambda _: None,
    *,
    screen: bool = False,
    retry_failed: bool = False,
) -> Summary:
    """Compute the points of a study that its store does not contain yet.

    Whatever ends the run, the store has the rows that were committed, and a later run computes
    what is missing.

    Parameters
    ----------
    plan : Plan
        The study.
    folder : Path
        The store. It is made when nothing is left that refuses the study.
    engine : callable
        Returns the engine.
    listener : callable
        Called with the progress at the start and after each batch.
    screen : bool
        Whether to compute points in the order of their lower bounds, and to leave out those that
        can be neither the best ones nor on the front.
    retry_failed : bool
        Whether to compute points again whose rows have an error.

    Raises
    ------
    InputError
        The constraints leave no point, the store is locked or cannot be written, or a worker has
        another version of the model.
    """
    check_store(folder)
    with ExitStack() as stack:
        store = stack.enter_context(locked_store(folder)) if folder.exists() else None
        work = plan.work()
        running = stack.enter_context(closing(engine()))
        store = store or stack.enter_context(locked_store(folder))
        if retry_failed:
            store.remove_failed(work.numbers)
        present = store.keys()
        missing = [number for key, number in work.numbers.items() if key not in present]
        total = len(work.numbers)
        batch_s = SCREENED_S if screen else BATCH_S
        meter = Meter(total, total - len(missing), listener, batch_s)
        if screen:
            order = _screen(plan, np.array(missing, np.int64))
            order.front.add(store.figures(plan.objectives, work.numbers).values())
            _compute_screened(plan, order, store, running, meter)
        else:
            compute(plan, map(plan.point, missing), store, running, meter)
            store.clear_table("screened", plan.digest)
        counts = (meter.computed, meter.failed, work.excluded, meter.skipped)
        return Summary(total, *counts, *results_of(plan, store, work.numbers))


def _screen(plan: Plan, numbers: Numbers) -> Screen:
    bounds = np.zeros((len(numbers), len(plan.objectives)))
    for some in chunks(len(numbers), "points screened"):
        bounds[some] = plan.bounds(numbers[some])
    return Screen(numbers, bounds)


def _compute_screened(
    plan: Plan, order: Screen, store: Store, engine: Engine, meter: "Meter"
) -> None:
    """Compute the points that their bounds do not exclude; write the others as a table."""

    def seen(rows: Sequence[Row]) -> None:
        order.front.add(figures_of(rows, plan.objectives))

    compute(plan, map(plan.point, order), store, engine, meter, seen)
    meter.skip(write_screened(plan, store, *order.skipped))


@contextmanager
def locked_store(folder: Path) -> Generator[Store]:
    """Return a store that is locked against other writers; create it if necessary."""
    store = create_store(folder)
    with store.locked():
        yield store


class Meter:
    """Counter of rows that reports the progress of the run, for the first time when it is made."""

    def __init__(
        self,
        total: int,
        done: int,
        listener: Callable[[Progress], object],
        batch_s: float,
    ) -> None:
        self._total, self._before, self._listener = total, done, listener
        self._batch_s = batch_s
        self._begun = time.monotonic()
        self.computed = self.failed = self.skipped = 0
        self.duration_s = 0.0
        self._report()

    def add(self, rows: Sequence[Row]) -> None:
        """Count the rows of a batch."""
        self.computed += len(rows)
        self.failed += sum(row["error"] is not None for row in rows)
        self.duration_s += sum(row["duration_s"] for row in rows)
        self._report()

    def skip(self, points: int) -> None:
        """Count points as done without computing them."""
        self.skipped += points
        self._report()

    def end(self) -> None:
        """Report that there are no further points, as when a search ends before its budget."""
        self._total = self._done
        self._report()

    @property
    def _done(self) -> int:
        return self._before + self.computed + self.skipped

    def _report(self) -> None:
        done = self._done
        rate = self.computed / max(time.monotonic() - self._begun, 1e-9)
        left = (self._total - done) / rate if rate else None
        remaining_s = left if done < self._total else 0.0
        self._listener(Progress(done, self._total, self.failed, rate, remaining_s))
        count(f"points, {self.failed:,} failed" if self.failed else "points", done, self._total)

    @property
    def batch_points(self) -> int:
        """Number of points of the next batch, from the time per point so far."""
        if not self.computed:
            return 1
        return round(
            min(_BATCH_POINTS, max(1.0, self._batch_s * self.computed / (self.duration_s or 1e-9)))
        )


def compute(
    plan: Plan,
    points: Iterator[Point],
    store: Store,
    engine: Engine,
    meter: Meter,
    seen: Callable[[Sequence[Row]], object] = lambda _: None,
) -> None:
    """Compute points and commit their rows.

    Parameters
    ----------
    plan : Plan
        The study.
    points : iterator of Point
        Taken one by one, a few batches ahead of their rows.
    store, engine : Store, Engine
        Where rows go, and where they are computed.
    meter : Meter
        Counts them.
    seen : callable
        Called with the rows of each batch.

    Raises
    ------
    InputError
        The store cannot be written, or a worker has another version of the model.
    """
    ready: list[Row] = []
    committed = -inf  # so that a disk without room is found by the first batch
    batches = _batches(points, lambda: meter.batch_points)
    done: Any = batches_done(engine, partial(evaluate_batch, plan.kind.version()), batches)
    try:
        for batch, found in done:
            if isinstance(found, LostError):
                found = [lost_row(point, str(found)) for point in batch]
            ready += found
            seen(found)
            meter.add(found)
            if len(ready) >= COMMIT_ROWS or time.monotonic() - committed > COMMIT_S:
                rows, ready = ready, []
                store.append(rows)
                committed = time.monotonic()
    except OtherVersionError as error:
        version, host = error.args
        message = f"must be of version {plan.kind.version()}, not {version} as on {host}"
        raise InputError("worker", "", message) from None
    finally:
        if ready:
            store.append(ready)


def _batches(items: Iterator[T], size: Callable[[], int]) -> Iterator[list[T]]:
    while batch := list(islice(items, size())):
        yield batch
