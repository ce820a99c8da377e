"""Tests of `fred completion`, and of what it completes."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.load import PRESETS
from perfmodel.workloads.workload import WORKLOADS

Run = Callable[..., tuple[int, str, str]]
FRED = Path(sys.executable).parent / "fred"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_printed(fred: Run, shell: str) -> None:
    status, out, err = fred("completion", shell)
    assert (status, err) == (0, "")
    assert f"_FRED_COMPLETE={shell}_complete" in out
    assert json.loads(fred("completion", shell, "--json")[1])["script"] + "\n" == out


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_script_is_one_of_bash(fred: Run, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(fred("completion", "bash")[1])
    said = subprocess.run(["bash", "-n", tmp_path / "script"], capture_output=True, check=False)
    assert (said.returncode, said.stderr) == (0, b"")


def completed(*words: str) -> set[str]:
    """Return what bash is told when the last of the words is to be completed."""
    said = subprocess.run(
        [FRED],
        env={
            **os.environ,
            "_FRED_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["fred", *words]),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stderr == ""
    return set(said.stdout.split())


@pytest.mark.slow
def test_commands_options_and_names_are_completed() -> None:
    assert completed("sch") == {"plain,schema"}
    assert {"plain,--topology", "plain,--npu"} <= completed("estimate", "--")
    assert completed("gen", "l1") == {f"plain,{name}" for name in PRESETS if name[:2] == "l1"}
    models = {f"plain,{name}" for name in WORKLOADS if name.startswith("transformer")}
    assert completed("estimate", "--workload", "transformer") == models
    assert completed("estimate", "--topology", "fred-d") == {"plain,fred-d"}
    assert completed("compare", "--topology", "fred-c") == {"plain,fred-c"}
    assert completed("schema", "top") == {"plain,topology"}
    assert completed("estimate", "--workload", "examples/t") == {"file,examples/t"}


def test_unknown_shell_is_refused(refused: Callable[..., str]) -> None:
    said = refused("completion", "tcsh")
    assert said.startswith("error: fred completion: Invalid value for '{bash|zsh|fish}': 'tcsh' ")
