"""Yosys in a process of its own: it keeps its memory and its output apart, and can be ended."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError

__all__ = ["Worker", "running"]

_ERROR = re.compile(r"^(?:\S+?:(\d+): )?ERROR: (.*)", re.MULTILINE)


class Worker:
    """A process of ``synth.worker``.

    Parameters
    ----------
    log : Path
        What Yosys prints.
    source : str
        Whom to name when Yosys refuses the design.
    """

    def __init__(self, log: Path, source: str) -> None:
        self.log, self._source = log, source
        self._process = subprocess.Popen(
            [sys.executable, "-m", "synth.worker", log.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "TMPDIR": ".",  # ABC takes no path with spaces
            },
            cwd=log.parent,  # names of files, which get into names of cells, are then the same
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def do(self, job: str, **arguments: Any) -> Any:
        """Do a job of the worker and return its answer.

        Raises
        ------
        InputError
            Yosys ended with an error.
        """
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps({"do": job, **arguments}) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process.wait()
            raise InputError(
                self._source, "", f"must be what Yosys maps, not with: {self._error()}"
            )
        return json.loads(answer)

    def kill(self) -> None:
        """Kill the process and those that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End the process, and wait until it has."""
        if self._process.poll() is None:
            self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _error(self) -> str:
        """Return the last error in the log, or its last line."""
        try:
            said = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            said = ""
        found = [f"line {line}: {what}" if line else what for line, what in _ERROR.findall(said)]
        lines = found or said.strip().splitlines() or ["no word"]
        return lines[-1]


@contextmanager
def running(log: Path, source: str) -> Iterator[Worker]:
    """Give a worker that is ended afterwards, whatever happens."""
    worker = Worker(log, source)
    try:
        yield worker
    finally:
        worker.end()
