"""Runs of studies: points that a store lacks are computed and committed batch by batch."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from fred_hw.errors import InputError
from fred_hw.progress import count

from .engine import Engine, LostError, batches_done
from .plan import Plan
from .point import OtherVersionError, Point, Row, evaluate_batch, lost_row
from .store import Store, check_store, create_store
from .version import model_version

__all__ = ["Progress", "Summary", "run_study"]

T = TypeVar("T")

COMMIT_S, COMMIT_ROWS = 2.0, 10_000
"""Rows are committed after so long, or when there are so many: so much is lost by a crash."""

_BATCH_S, _BATCH_POINTS = 0.5, 256
"""What a batch should take, and its points at most."""


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
    remaining_s : float
        Time until all are done at this rate [s].
    """

    done: int
    total: int
    failed: int
    rate: float
    remaining_s: float


@dataclass(frozen=True)
class Summary:
    """What a run did.

    Parameters
    ----------
    points : int
        Points of the study that satisfy its constraints.
    computed, failed : int
        Rows that this run added, and those of them with an error.
    excluded : dict
        Points that each constraint removed.
    best : dict
        Row of the best point of the study for each objective; None if none has a figure.
    """

    points: int
    computed: int
    failed: int
    excluded: dict[str, int]
    best: dict[str, Row | None]


def run_study(
    plan: Plan,
    folder: Path,
    engine: Callable[[], Engine],
    listener: Callable[[Progress], object] = lambda _: None,
) -> Summary:
    """Compute the points of a study that its store lacks.

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
        Called with the progress after each batch.

    Raises
    ------
    InputError
        The constraints leave no point, the store is locked or cannot be written, or a worker has
        another version of the model.
    """
    check_store(folder)
    with ExitStack() as stack:
        store = stack.enter_context(_locked(folder)) if folder.exists() else None
        work = plan.work()
        running = stack.enter_context(closing(engine()))
        store = store or stack.enter_context(_locked(folder))
        present = store.keys()
        missing = [number for key, number in work.numbers.items() if key not in present]
        total = len(work.numbers)
        meter = _Meter(total, total - len(missing), listener)
        _compute(map(plan.point, missing), store, running, meter)
        best = {name: store.best(name, work.numbers) for name in plan.objectives}
        return Summary(total, meter.computed, meter.failed, work.excluded, best)


@contextmanager
def _locked(folder: Path) -> Generator[Store]:
    store = create_store(folder)
    with store.locked():
        yield store


class _Meter:
    """Counts rows, and reports the progress of the run."""

    def __init__(self, total: int, done: int, listener: Callable[[Progress], object]) -> None:
        self._total, self._before, self._listener = total, done, listener
        self._begun = time.monotonic()
        self.computed = self.failed = 0
        self.duration_s = 0.0

    def add(self, rows: Sequence[Row]) -> None:
        """Count the rows of a batch."""
        self.computed += len(rows)
        self.failed += sum(row["error"] is not None for row in rows)
        self.duration_s += sum(row["duration_s"] for row in rows)
        done = self._before + self.computed
        rate = self.computed / max(time.monotonic() - self._begun, 1e-9)
        left = (self._total - done) / rate
        self._listener(Progress(done, self._total, self.failed, rate, left))
        count(f"points, {self.failed:,} failed" if self.failed else "points", done, self._total)

    @property
    def batch_points(self) -> int:
        """Points of the next batch, by the time that points have taken."""
        if not self.computed:
            return 1
        return round(
            min(_BATCH_POINTS, max(1.0, _BATCH_S * self.computed / (self.duration_s or 1e-9)))
        )


def _compute(points: Iterator[Point], store: Store, engine: Engine, meter: _Meter) -> None:
    ready: list[Row] = []
    committed = -inf  # so that a disk without room is found by the first batch
    batches = _batches(points, lambda: meter.batch_points)
    done: Any = batches_done(engine, partial(evaluate_batch, model_version()), batches)
    try:
        for batch, found in done:
            if isinstance(found, LostError):
                found = [lost_row(point, str(found)) for point in batch]
            ready += found
            meter.add(found)
            if len(ready) >= COMMIT_ROWS or time.monotonic() - committed > COMMIT_S:
                rows, ready = ready, []
                store.append(rows)
                committed = time.monotonic()
    except OtherVersionError as error:
        version, host = error.args
        message = f"must be of version {model_version()}, not {version} as on {host}"
        raise InputError("worker", "", message) from None
    finally:
        if ready:
            store.append(ready)


def _batches(items: Iterator[T], size: Callable[[], int]) -> Iterator[list[T]]:
    while batch := list(islice(items, size())):
        yield batch
