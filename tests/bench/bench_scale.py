"""Measure large collectives and iterations: processor time and peak memory of whole commands.

Each row is a command in a process of its own, so its figures include the start of the program. All
rows are printed with their goals; docs/explanation/wafer-model.md has the figures of one machine.
Returns 1 if a row that has met its goal takes more than ``SLOWER`` times as long.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SLOWER = 3.0
_START = "from fred_cli.main import main; main()"
_ALL_REDUCE = ("collective", "--size", "1GiB", "--topology")
_LLAMA = ("--workload", "llama-3-405b")

_FRED = """kind: fred
l1: [{{count: {count}, npus: 64, io_controllers: 4, record: l1-12}}]
l2_record: l2-10
l1_l2_bytes_per_s: 192.0e+12
in_network: {in_network}
interpolate: true
"""
_BLOCKS = """kind: blocks
blocks:
  - {{block: ring, npus: 16, bytes_per_s: 200.0e+9, latency_s: 50.0e-9}}
  - {{block: fully_connected, npus: 16, bytes_per_s: 100.0e+9, latency_s: 500.0e-9}}
  - {{block: switch, npus: {count}, bytes_per_s: 50.0e+9, latency_s: 2.0e-6}}
"""
FILES = {
    "fred-65536.yaml": _FRED.format(count=1024, in_network="true"),
    "fred-4096.yaml": _FRED.format(count=64, in_network="true"),
    "fred-4096-routing.yaml": _FRED.format(count=64, in_network="false"),
    "blocks-65536.yaml": _BLOCKS.format(count=256),
    "blocks-4096.yaml": _BLOCKS.format(count=16),
}
"""Topologies that are written for the rows."""


class Row(NamedTuple):
    """A command, and the processor time [s] and the peak memory [MB] that it is to stay below.

    ``met`` says whether it has done so.
    """

    command: tuple[str, ...]
    goal_s: float
    goal_mb: float = 1e6
    met: bool = True


_PUBLISHED = ("--algorithm", "published")
_ESTIMATE = (*_LLAMA, "--strategy", "MP8-DP16-PP8")
_PACKETS = ("--algorithm", "ring", "--network-model", "packet")
_ENDPOINTS = ("--topology", "examples/mesh-5x4-endpoints.yaml")

ROWS = [
    *(
        Row((*_ALL_REDUCE, name, *_PUBLISHED), 2, 1000, met)
        for name, met in (
            ("mesh:256x256", True),
            ("fred-65536.yaml", True),
            ("torus:64x64x16", True),
            ("blocks-65536.yaml", False),
        )
    ),
    *(
        Row((*_ALL_REDUCE, name), 1, 300, met)
        for name, met in (
            ("fred-4096.yaml", True),
            ("fred-4096-routing.yaml", False),
            ("blocks-4096.yaml", False),
        )
    ),
    Row(("estimate", "--topology", "examples/fred-1024.yaml", *_ESTIMATE), 3, 500, False),
    Row(("estimate", "--topology", "mesh:32x32", *_ESTIMATE), 3, 500, False),
    Row(
        ("strategies", "--topology", "examples/fred-1024.yaml", *_LLAMA, "--best", "1"),
        30,
        met=False,
    ),
    Row((*_ALL_REDUCE, "mesh:32x32", "--algorithm", "ring", "--network-model", "aware"), 5),
    *(
        Row(("collective", *_ENDPOINTS, "--size", size, *_PACKETS), 6)
        for size in ("16MB", "64MB", "256MB")
    ),
]


def measure(row: Row, folder: Path) -> tuple[float, float]:
    """Return the processor time [s] and the peak memory [MB] of a command."""
    command = row.command
    named = [str(folder / word) if word in FILES else word for word in command]
    process = subprocess.Popen(
        [sys.executable, "-c", _START, *named],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"error: fred {' '.join(command)}: {said.decode()}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def main() -> int:
    """Print all rows; return 1 if one that has met its goal is too slow."""
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text, encoding="utf-8")
        for row in ROWS:
            seconds, megabytes = measure(row, folder)
            limit = f", {row.goal_mb:g} MB" if row.goal_mb < 1e6 else ""
            here = seconds <= row.goal_s and megabytes <= row.goal_mb
            what = " ".join(row.command)
            verdict = "met" if here else "missed"
            figures = f"{seconds:7.2f} s {megabytes:6.0f} MB"
            sys.stdout.write(f"{figures}  goal {row.goal_s:g} s{limit}: {verdict}  {what}\n")
            sys.stdout.flush()
            if row.met and (seconds > SLOWER * row.goal_s or megabytes > row.goal_mb):
                missed.append(what)
    sys.stdout.write(
        f"goals that were met: {'MISSED by ' + '; '.join(missed) if missed else 'still met'}\n"
    )
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
