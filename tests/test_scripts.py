"""Tests of the scripts."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.bench_demo import faults

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "scripts").glob("*.sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_writes_a_fixed_name_in_a_shared_folder(script: Path) -> None:
    """Somebody else could have put a link of that name there."""
    assert not re.search(r"/(var/)?tmp/|/dev/shm/|\$\{?TMPDIR", script.read_text())


@pytest.mark.slow(40)
@pytest.mark.sim
def test_each_step_of_the_demo_ends_with_one_number(tmp_path: Path) -> None:
    """The script runs in a folder of the test, with a smaller switch of as many ports."""
    (tmp_path / "scripts").mkdir()
    script = shutil.copy(ROOT / "scripts/demo.sh", tmp_path / "scripts")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/demo-switch.yaml").write_text(
        "{ports: 8, middle_switches: 3, format: int8, lanes: 1}\n", "utf-8"
    )
    done = subprocess.run(["bash", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert faults(done.stdout) == []
    assert done.stdout.count("\n-> ") == 5
    assert (tmp_path / "build/demo/report/index.html").exists()


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("\n== 1. One.\n-> 2\n\n== 2. Two.\n-> 3\n", []),
        ("\n== 1. One.\n\n== 2. Two.\n-> 3\n", ["step 1 has 0 lines with '->', not 1"]),
        ("\n== 1. One.\n-> 2\n-> 3\n", ["step 1 has 2 lines with '->', not 1"]),
        ("\n== 1. One.\n-> 0x12\n", ["hexadecimal words: 0x12"]),
        ("", ["no step"]),
    ],
    ids=["right", "no number", "two numbers", "hexadecimal", "empty"],
)
def test_faults_in_the_output_of_the_demo_are_found(output: str, found: list[str]) -> None:
    assert faults(output) == found
