"""Engines of studies: where batches of points are computed, and recovery from lost workers."""

import contextlib
import gc
import logging
import os
import re
import shutil
import signal
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

from fred_hw.choices import did_you_mean
from fred_hw.errors import InputError
from fred_hw.optional import needed

from .version import model_version

__all__ = ["Engine", "LostError", "ProcessPool", "batches_done", "collect_rarely", "open_engine"]

T = TypeVar("T")
R = TypeVar("R")

_OBJECTS = 100_000
"""Objects made between two searches for cycles."""

_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):([0-9]{1,5})")
"""Address of a scheduler: protocol, host name or IP address, and port."""

CONNECT_S = 10
"""Time within which a scheduler must answer [s]."""


class LostError(Exception):
    """A worker ended before returning the results of a batch."""


class Engine(ABC):
    """Interface of engines, which compute batches elsewhere and return futures.

    A future fails with :class:`LostError` if the worker ended, perhaps because of the batch.
    """

    @property
    @abstractmethod
    def workers(self) -> int:
        """Number of batches that are computed at the same time."""

    @abstractmethod
    def submit(self, work: Callable[[T], R], batch: T) -> "Future[R]":
        """Start computing a batch."""

    @abstractmethod
    def result(self, future: "Future[R]") -> R:
        """Return the result of a batch.

        Raises
        ------
        LostError
            The worker ended; a later ``submit`` has another one.
        InputError
            The scheduler is gone.
        """

    @abstractmethod
    def close(self) -> None:
        """Drop batches that have not started, and release all workers."""


class ProcessPool(Engine):
    """Worker processes on this machine.

    Parameters
    ----------
    workers : int or None
        Processes; as many as this process may use processors if None.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or len(os.sched_getaffinity(0))
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._workers, get_context("spawn"), _begin_worker)

    @property
    def workers(self) -> int:
        return self._workers

    def submit(self, work: Callable[[T], R], batch: T) -> "Future[R]":
        try:
            return self._pool.submit(work, batch)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False)
            self._pool = self._new()
            return self._pool.submit(work, batch)

    def result(self, future: "Future[R]") -> R:
        try:
            return future.result()
        except BrokenProcessPool:
            raise LostError("the worker process ended") from None

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def collect_rarely() -> None:
    """Let Python look for cycles of objects seldom: estimates make many objects and few cycles."""
    gc.freeze()
    gc.set_threshold(_OBJECTS)


def _begin_worker() -> None:
    """Leave interrupts to the parent, and end when the parent ends, however that ends."""
    collect_rarely()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


class DaskCluster(Engine):
    """Workers of a Dask cluster.

    Parameters
    ----------
    scheduler : str
        As the user wrote it, for error lines.
    address : str
        ``tcp://HOST:PORT``.
    cluster : object or None
        What to close in the end; None for a cluster that runs on its own.

    Raises
    ------
    InputError
        Nothing answers there, or there is no worker, or one has another version of the model.
    """

    def __init__(self, scheduler: str, address: Any, cluster: Any = None) -> None:
        self._scheduler, self._cluster = scheduler, cluster
        distributed: Any = import_module("distributed")
        self._killed: Any = import_module("distributed.scheduler").KilledWorker
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            self._client: Any = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            message = f"must be a Dask scheduler that answers, not with: {error}"
            raise InputError("--scheduler", scheduler, message) from None
        try:
            self._check()
        except BaseException:
            self.close()
            raise
        self._executor: Any = self._client.get_executor(pure=False)

    def _check(self) -> None:
        if self._cluster is not None:
            self._client.wait_for_workers(1)
        if not self._client.nthreads():
            message = "must have a worker, not none; start one with 'dask worker'"
            raise InputError("--scheduler", self._scheduler, message)
        wanted = model_version()
        for worker, found in self._client.run(model_version, on_error="return").items():
            if found != wanted:
                said = found if isinstance(found, str) else f"{type(found).__name__}: {found}"
                message = f"must have workers of version {wanted}, not {worker} with {said}"
                raise InputError("--scheduler", self._scheduler, message)

    @property
    def workers(self) -> int:
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, work: Callable[[T], R], batch: T) -> "Future[R]":
        return self._executor.submit(work, batch)

    def result(self, future: "Future[R]") -> R:
        try:
            return future.result()
        except self._killed:
            raise LostError("several workers ended at this point") from None
        except CancelledError:
            message = (
                "must be a scheduler that runs until the study ends, not one that ended before"
            )
            raise InputError("--scheduler", self._scheduler, message) from None

    def close(self) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def open_engine(scheduler: str | None, workers: int | None) -> Engine:
    """Return an engine.

    Parameters
    ----------
    scheduler : str or None
        None for processes of this machine; ``tcp://HOST:PORT`` for a Dask cluster that runs;
        ``slurm:KEY=VALUE,...`` for one that is started as jobs of Slurm, with the keys of
        ``dask_jobqueue.SLURMCluster``.
    workers : int or None
        Processes or jobs; all processors of this machine, or one job, if None.

    Raises
    ------
    InputError
        The scheduler is malformed, does not answer or has unsuitable workers; or Dask is not
        installed.
    """
    if scheduler is None:
        return ProcessPool(workers)
    kind, _, rest = scheduler.partition(":")
    if kind == "slurm":
        return _slurm(scheduler, rest, workers or 1)
    address = _ADDRESS.fullmatch(scheduler)
    if not address or not 0 < int(address[3]) < 1 << 16:
        hint = "" if kind in ("tcp", "tls") else did_you_mean(kind, ("tcp", "slurm"))
        message = f"must be tcp://HOST:PORT or slurm:KEY=VALUE,..., not {scheduler!r}{hint}"
        raise InputError("--scheduler", "", message)
    if workers is not None:
        message = f"must be left out with {kind}://, whose workers are started separately"
        raise InputError("--workers", "", message)
    with needed("distributed", "studies on a cluster", "fred-hw[cluster]"):
        import_module("distributed")
    return DaskCluster(scheduler, scheduler)


def _slurm(scheduler: str, text: str, jobs: int) -> Engine:
    keys: dict[str, Any] = {"cores": 1, "processes": 1, "memory": "4GB"}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.isidentifier():
            message = f"must be slurm:KEY=VALUE,..., not with {part!r}"
            raise InputError("--scheduler", scheduler, message)
        keys[key] = int(value) if value.isdecimal() else value
    if shutil.which("sbatch") is None:
        message = "must be used where Slurm's sbatch is, not without it"
        raise InputError("--scheduler", scheduler, message)
    with needed("dask_jobqueue", "studies on Slurm", "fred-hw[cluster]"):
        jobqueue: Any = import_module("dask_jobqueue")
    keys["processes"] = keys["cores"]  # estimates are pure Python: a thread would not help
    try:
        cluster = jobqueue.SLURMCluster(**keys)
        cluster.scale(jobs=jobs)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        message = f"must be options that Slurm takes, not with: {error}"
        raise InputError("--scheduler", scheduler, message) from None
    return DaskCluster(scheduler, cluster, cluster)


def batches_done(
    engine: Engine, work: Callable[[list[T]], R], batches: Iterator[list[T]]
) -> Iterator[tuple[list[T], R | LostError]]:
    """Compute batches, and yield each with its result as soon as it is available.

    A batch whose worker ended is computed again, while no other batch runs, so that the batch that
    ends workers is known. It is then split, so that the point that ends workers is known: that
    point alone has a :class:`LostError` as its result.

    Parameters
    ----------
    engine : Engine
        Where to compute.
    work : callable
        Returns the result of a batch; importable by workers.
    batches : iterator of list
        Taken one by one, two for each worker ahead of their results.
    """
    running: dict[Future[R], list[T]] = {}
    again: deque[list[T]] = deque()
    alone: Future[R] | None = None
    while True:
        if again and not running:
            batch = again.popleft()
            alone = engine.submit(work, batch)
            running[alone] = batch
        while not again and alone is None and len(running) < 2 * engine.workers:
            if not (batch := next(batches, None)):
                break
            running[engine.submit(work, batch)] = batch
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            batch = running.pop(future)
            was_alone, alone = future is alone, None
            try:
                yield batch, engine.result(future)
            except LostError as error:
                if not was_alone:
                    again.append(batch)
                elif len(batch) > 1:
                    again.extendleft([point] for point in reversed(batch))
                else:
                    yield batch, error
