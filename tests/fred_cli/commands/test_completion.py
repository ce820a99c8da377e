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
from tests.fred_cli.walk import commands

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


TEXTS = {
    *("--set", "--npu", "--strategy", "--compute", "--placement", "--algorithm", "--section"),
    *("--pattern", "--size", "--group", "--test", "--top", "--clock", "--join"),
}
"""What takes text that is neither a file nor the name of what may also be one."""


def test_whoever_takes_a_file_completes_it() -> None:
    silent = {
        f"{words} {parameter.opts[0]}"
        for words, context in commands()
        for parameter in context.command.params
        if parameter.type.name not in ("boolean", "integer", "integer range", "choice")
        and parameter.opts[0] not in TEXTS
        and [one.type for one in parameter.shell_complete(context, "examples/t")]
        not in (["file"], ["dir"])
    }
    assert silent == set()


def test_names_are_completed_wherever_they_are_taken() -> None:
    names = {"--topology": "fred-d", "--network": "fred-d", "--workload": "gpt-3"}
    names |= {"spec_source": "demo-8", "--spec": "demo-8"}
    found = {
        f"{words} {parameter.opts[0]}": [
            one.value for one in parameter.shell_complete(context, names[parameter.opts[0]])
        ]
        for words, context in commands()
        for parameter in context.command.params
        if parameter.opts[0] in names
    }
    assert {"estimate --network", "report --topology", "synth spec_source"} <= set(found)
    assert {
        where: said for where, said in found.items() if said != [names[where.split()[-1]]]
    } == {}


def test_folders_are_completed_where_one_is_written() -> None:
    found = {
        words
        for words, context in commands()
        for parameter in context.command.params
        if [one.type for one in parameter.shell_complete(context, "bu")] == ["dir"]
    }
    assert found == {"gen", "sim", "report", "synth"}


def test_unknown_shell_is_refused(refused: Callable[..., str]) -> None:
    said = refused("completion", "tcsh")
    assert said.startswith("error: fred completion: Invalid value for '{bash|zsh|fish}': 'tcsh' ")
