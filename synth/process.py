"""Yosys in a separate process, with its own memory and output."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError
from fred_hw.folders import writing_to

__all__ = ["MAPPING", "Limits", "Worker", "reading", "running", "work_folder"]

_ERROR = re.compile(r"^(?:([^\n:]+):(\d+): )?ERROR:\s*(.*)", re.MULTILINE)
_NO_MEMORY = ("bad_alloc", "MemoryError", "Cannot allocate memory")
_NO_FILE = re.compile(r"Can(?:'t| ?not) open")
_DESIGN = "design.v"
_LOG_BYTES = 1 << 16
"""Largest part of a log that is read, from its end; elaboration may print any amount."""


@dataclass(frozen=True)
class Limits:
    """Resource limits of a worker.

    Parameters
    ----------
    cpu_s : int
        Processor time [s].
    memory_bytes : int
        Memory [B].
    """

    cpu_s: int
    memory_bytes: int


MAPPING = Limits(2 * 3600, 8 << 30)
"""Limits for mapping a module; ABC takes minutes for the largest generated ones."""


def reading(verilog: str) -> Limits:
    """Return the limits for reading Verilog.

    A switch of 8 ports, 2 MB of text, takes 2 s and 260 MiB, and flattened 9 s and 930 MiB.
    """
    megabytes = len(verilog) >> 20
    return Limits(5 + 8 * megabytes, (768 + 512 * megabytes) << 20)


class Worker:
    """A process of ``synth.worker``.

    Parameters
    ----------
    log : Path
        Output of Yosys.
    source : str
        Source to be named in errors.
    limits : Limits
        Limits of time and memory.
    """

    def __init__(self, log: Path, source: str, limits: Limits = MAPPING) -> None:
        self.log, self._source, self._limits = log, source, limits
        most = str(limits.cpu_s), str(limits.memory_bytes)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "synth.worker", log.name, *most],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "TMPDIR": ".",  # ABC accepts no path with spaces
            },
            cwd=log.parent,  # keeps file names, which become part of cell names, the same
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Process number."""
        return self._process.pid

    def do(self, job: str, **arguments: Any) -> Any:
        """Run a job in the worker, and return its answer.

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
            raise InputError(self._source, "", self._refusal(self._process.wait()))
        return json.loads(answer)

    def kill(self) -> None:
        """Kill the process and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End the process, and wait for its exit."""
        if self._process.poll() is None:
            self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _refusal(self, status: int) -> str:
        """Return why the process ended: a limit, the log's last error, or its last line."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - _LOG_BYTES))
                said = file.read().decode("utf-8", errors="replace")
        except OSError:
            said = ""
        most = self._limits
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            limit = f"{most.cpu_s:,} s of CPU time"
            return f"must be Verilog that takes Yosys {limit} at most, not more"
        if any(one in said[-2000:] for one in _NO_MEMORY):
            limit = f"{most.memory_bytes >> 20:,} MiB"
            return f"must be Verilog that takes Yosys {limit} at most, not more"
        found = [
            f"{'' if file == _DESIGN else f'{file}: '}line {line}: {what}" if line else what
            for file, line, what in _ERROR.findall(said)
        ]
        if not found and status < 0:
            found = [f"its end by {signal.Signals(-status).name}"]
        last = (found or said.strip().splitlines() or ["no word"])[-1]
        if _NO_FILE.search(last):
            last += " Files are only included, from the folder of the input."
        return f"must be Verilog that Yosys maps, not with: {last}"


@contextmanager
def running(log: Path, source: str, limits: Limits = MAPPING) -> Iterator[Worker]:
    """Provide a worker that is always ended afterwards."""
    worker = Worker(log, source, limits)
    try:
        yield worker
    finally:
        worker.end()


@contextmanager
def work_folder() -> Iterator[Path]:
    """Provide a folder for intermediate files; a full disk is reported."""
    base = Path(tempfile.gettempdir())
    with writing_to(base), tempfile.TemporaryDirectory(prefix="fred-synth-", dir=base) as folder:
        yield Path(folder)
