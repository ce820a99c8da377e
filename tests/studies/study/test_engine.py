"""Tests of studies.study.engine."""

import gc
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from fred_hw.errors import InputError
from studies.study import engine as engines
from studies.study.engine import (
    Engine,
    LostError,
    ProcessPool,
    batches_done,
    open_engine,
)

from .engines import Inline


def double(batch: list[int]) -> list[int]:
    return [2 * one for one in batch]


def double_or_die(batch: list[int]) -> list[int]:
    if 5 in batch:
        os.kill(os.getpid(), signal.SIGKILL)
    return double(batch)


def batches(size: int = 3, last: int = 12) -> Iterator[list[int]]:
    return (list(range(first, first + size)) for first in range(0, last, size))


def results(engine: Engine, work: object = double) -> tuple[dict[int, int], list[int]]:
    """Return results by item, and the items that were lost."""
    found, lost = dict[int, int](), list[int]()
    for batch, result in batches_done(engine, work, batches()):  # type: ignore[arg-type]
        if isinstance(result, LostError):
            lost += batch
        else:
            assert not found.keys() & set(batch)
            found.update(zip(batch, result, strict=True))  # type: ignore[arg-type]
    return found, lost


def test_every_batch_is_computed_once() -> None:
    assert results(Inline()) == ({one: 2 * one for one in range(12)}, [])


@pytest.mark.parametrize("poison", [{5}, {0, 11}, set(range(12))])
def test_a_point_that_ends_workers_alone_is_lost(poison: set[int]) -> None:
    engine = Inline(poison=poison)
    found, lost = results(engine)
    assert found == {one: 2 * one for one in range(12) if one not in poison}
    assert sorted(lost) == sorted(poison)


@pytest.mark.slow
def test_processes_that_end_are_replaced() -> None:
    engine = ProcessPool(2)
    try:
        found, lost = results(engine, double_or_die)
    finally:
        engine.close()
    assert lost == [5]
    assert found == {one: 2 * one for one in range(12) if one != 5}


def threshold(_batch: object) -> int:
    return gc.get_threshold()[0]


@pytest.mark.slow
def test_workers_look_for_cycles_of_objects_seldom() -> None:
    engine = ProcessPool(1)
    try:
        found = engine.result(engine.submit(threshold, None))
    finally:
        engine.close()
    assert found > 10_000  # 700 by default


def test_a_scheduler_that_does_not_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("studies.study.engine.CONNECT_S", 0.2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(InputError) as refused:
        open_engine(f"tcp://127.0.0.1:{port}", None)
    said = str(refused.value)
    expected = f"--scheduler: tcp://127.0.0.1:{port}: must be a Dask scheduler that answers, not"
    assert said.startswith(expected)


@pytest.mark.parametrize(
    ("scheduler", "workers", "line"),
    [
        ("tpc://h:1", None, "must be tcp://HOST:PORT or slurm:KEY=VALUE,..., not 'tpc://h:1'"),
        ("localhost", None, "must be tcp://HOST:PORT or slurm:KEY=VALUE,..., not 'localhost'"),
        *(
            (bad, None, f"must be tcp://HOST:PORT or slurm:KEY=VALUE,..., not {bad!r}$")
            for bad in (
                *("tcp://", "tcp://h", "tcp://:1", "tcp://h:", "tcp://h:abc", "tcp://h:1/x"),
                *("tcp://::1:1", "tcp://[::1]", "tcp://[]:1", "tls://h", "tcp:h:1"),
                *("tcp://h:0", "tcp://h:65536"),
            )
        ),
        ("tcp://h:1", 3, "--workers: must be left out with tcp://"),
        ("slurm:queue=q", 2, "--scheduler: slurm:queue=q: must be used where Slurm's sbatch is"),
        ("slurm:queue", None, "--scheduler: slurm:queue: must be slurm:KEY=VALUE,..., not with"),
    ],
)
def test_bad_schedulers_are_refused(
    monkeypatch: pytest.MonkeyPatch, scheduler: str, workers: int | None, line: str
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError) as refused:
        open_engine(scheduler, workers)
    assert line in f"{refused.value}$"


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tls://node-1.cluster:1", "tcp://[::1]:8786"]
)
def test_addresses_of_schedulers_are_used_as_they_are(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    pytest.importorskip("distributed")
    given: list[tuple[str, str]] = []
    monkeypatch.setattr(engines, "DaskCluster", lambda *words: given.append(words))
    open_engine(address, None)
    assert given == [(address, address)]


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """Yield a Dask cluster in this process."""
    distributed: Any = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=workers, **options) as cluster:
        yield cluster


@pytest.mark.slow
def test_a_cluster_is_started_as_jobs_of_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask_jobqueue")
    given: list[dict[str, Any]] = []
    with local_cluster(0) as cluster:
        scale = cluster.scale

        def start(_workers: int = 0, *, jobs: int = 0) -> None:
            """Start two workers here for each job; without jobs, end all workers."""
            if jobs:
                given.append({"jobs": jobs})
            scale(2 * jobs)

        def slurm_cluster(**keys: Any) -> Any:
            given.append(keys)
            cluster.scale = start
            return cluster

        monkeypatch.setattr(import_module("dask_jobqueue"), "SLURMCluster", slurm_cluster)
        monkeypatch.setattr(engines.shutil, "which", lambda name: f"/bin/{name}")
        engine = open_engine("slurm:queue=normal,cores=2,memory=32GB", 1)
        try:
            cluster.wait_for_workers(2)
            assert engine.workers == 2
            assert results(engine) == ({one: 2 * one for one in range(12)}, [])
        finally:
            engine.close()
        assert str(cluster.status) == "Status.closed"
    keys = {"queue": "normal", "cores": 2, "processes": 2, "memory": "32GB"}
    assert given == [keys, {"jobs": 1}]


def version_by_thread() -> str:
    """Return another version on a worker, whose code does not run in the main thread."""
    return "1.0" if threading.current_thread() is threading.main_thread() else "2.0"


def test_workers_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "model_version", version_by_thread)
    with local_cluster(1) as cluster:
        line = "must have workers of version 1.0, not .* with 2.0$"
        with pytest.raises(InputError, match=f"^--scheduler: tcp://h:1: {line}"):
            engines.DaskCluster("tcp://h:1", cluster.scheduler_address)
