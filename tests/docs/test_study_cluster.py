"""The three commands of the how-to guide on clusters, on this machine and with a small study."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from studies.study.store import open_store

from .pages import ROOT, blocks

PAGE = "docs/how-to/study-cluster.md"
STUDY = {
    "space": {
        "topology": "mesh:2x2",
        "workload": "resnet-50",
        "strategy": "MP1-DP4-PP1",
        "npu.peak_flops": [1e15, 2e15, 4e15],
    }
}


def commands(port: int) -> list[str]:
    """Return the commands with the address of this machine, and one worker in place of 16."""
    text = blocks(PAGE, "sh")[0].text
    text = text.replace("10.0.0.1", "127.0.0.1").replace("8786", str(port))
    text = text.replace("--nworkers 16", "--nworkers 1")
    return [line.partition(" # ")[0].strip() for line in text.splitlines()]


@contextmanager
def running(command: str, folder: Path, until: str) -> Iterator[None]:
    """Run a program of Dask until the end; wait for a line that it writes when it is ready."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command.split(), cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr
            said = []
            for line in process.stderr:
                said.append(line)
                if re.search(until, line):
                    break
            else:
                pytest.fail(f"{command}: {''.join(said)}")
            yield
        finally:
            process.terminate()


@pytest.mark.slow(30)
def test_three_commands_compute_a_study_on_a_cluster(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    scheduler, worker, study = commands(port)
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    with (
        running(scheduler, tmp_path, r"Scheduler at:"),
        running(worker, tmp_path, r"Registered to:"),
    ):
        words = study.split()
        done = subprocess.run(
            [str(Path(sys.executable).with_name(words[0])), *words[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 points: 3 computed, 0 there before, 0 failed\n")
    rows = open_store(tmp_path / "store").query("select error from points").to_pylist()
    assert rows == [{"error": None}] * 3
