"""Studies in processes that are killed: of this machine, and of a Dask cluster."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from studies.study.run import run_study
from studies.study.store import create_store, open_store

from .engines import Inline
from .studies import SPACE, planned, rows_of, study_file

pytestmark = pytest.mark.slow

FRED = Path(sys.executable).with_name("fred")
LONG = {**SPACE, "npu.peak_flops": {"log_range": [1e15, 2e15], "points": 320}}
POINTS = 1280
"""Points of ``LONG``: enough to be interrupted after the first commit on a busy machine."""


def _heed_interrupts() -> None:
    """Undo what a shell does to the processes that it runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(stack: ExitStack, *words: object) -> "subprocess.Popen[str]":
    """Return a process that is ended with the test."""
    process = subprocess.Popen(
        [*map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def line_with(process: "subprocess.Popen[str]", wanted: str) -> str:
    """Return the next line of standard error that has a text."""
    assert process.stderr
    return next(line for line in process.stderr if re.search(wanted, line))


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Rows of a run that nothing interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    store = create_store(folder / "store")
    run_study(planned(folder, LONG), store.path, Inline)
    return rows_of(store)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_leaves_a_store_that_is_completed(
    tmp_path: Path, whole: list[dict[str, Any]], number: signal.Signals
) -> None:
    words = (FRED, "study", "run", study_file(tmp_path, LONG), "-o", tmp_path / "store")
    with ExitStack() as stack:
        run = started(stack, *words, "--workers", 1, "--json-progress")
        line_with(run, '"done": [1-9]')
        wait_for(lambda: list(tmp_path.glob("store/rows-1/*.parquet")))
        below = psutil.Process(run.pid).children(recursive=True)
        assert below
        run.send_signal(number)
        run.wait(timeout=60)
        assert run.returncode == (-9 if number == signal.SIGKILL else 130)
        psutil.wait_procs(below, timeout=30)
        assert not any(one.is_running() for one in below)
    there = len(open_store(tmp_path / "store").keys())
    assert 0 < there < POINTS
    again = subprocess.run([*map(str, words)], capture_output=True, text=True, check=True)
    assert (
        f"{POINTS:,} points: {POINTS - there:,} computed, {there:,} there before, 0 failed"
        in again.stdout
    )
    assert rows_of(open_store(tmp_path / "store")) == whole


def test_a_cluster_that_loses_a_worker_loses_no_point(
    tmp_path: Path, whole: list[dict[str, Any]]
) -> None:
    pytest.importorskip("distributed")
    with ExitStack() as stack:
        dask = (sys.executable, "-m", "distributed.cli.dask_scheduler")
        scheduler = started(
            stack, *dask, "--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--no-show"
        )
        address = line_with(scheduler, r"Scheduler at: +tcp://").split()[-1]
        words = (FRED, "study", "run", study_file(tmp_path, LONG), "-o", tmp_path / "store")
        words = (*words, "--scheduler", address, "--json-progress")
        alone = started(stack, *words)
        assert "must have a worker, not none; start one" in alone.communicate(timeout=60)[1]
        assert (alone.returncode, (tmp_path / "store").exists()) == (2, False)
        worker_words = (sys.executable, "-m", "distributed.cli.dask_worker", address)
        options = ("--no-nanny", "--nthreads", 1, "--no-dashboard", "--host", "127.0.0.1")
        workers = [
            started(stack, *worker_words, *options, "--local-directory", tmp_path / f"worker{n}")
            for n in range(2)
        ]
        for worker in workers:
            line_with(worker, "Registered to")
        run = started(stack, *words)
        line_with(run, '"done": [1-9]')
        assert run.poll() is None
        os.kill(workers[0].pid, signal.SIGKILL)
        output, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
        assert f"{POINTS:,} points: {POINTS:,} computed, 0 there before, 0 failed" in output
    store = open_store(tmp_path / "store")
    assert store.query("select count(*) as n from points")["n"].to_pylist() == [POINTS]
    assert rows_of(store) == whole
