"""Tests of `fred completion`, and of what it completes."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from clustermodel.model import load_transformer
from fred_cli.names import Named
from fred_hw.load import PRESETS
from perfmodel.workloads.workload import WORKLOADS
from testbench.cosimulation import benches
from tests.fred_cli.fred import Fred
from tests.fred_cli.walk import commands

FRED = Path(sys.executable).parent / "fred"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_printed(fred: Fred, shell: str) -> None:
    out = fred.out("completion", shell)
    assert f"_FRED_COMPLETE={shell}_complete" in out
    assert fred.json("completion", shell)["script"] + "\n" == out


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_script_is_one_of_bash(fred: Fred, tmp_path: Path) -> None:
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
    assert completed("synth", "tiny-2", "--liberty", "nan") == {"plain,nangate45"}
    assert completed("synth", "tiny-2", "--liberty", "lib/") == {"file,lib/"}
    assert completed("schema", "top") == {"plain,topology"}
    assert completed("estimate", "--workload", "examples/t") == {"file,examples/t"}


FREE = {
    *("--strategy", "--phase", "--size", "--group", "--top", "--clock"),
    *("--constraint", "--weight"),
    *("--capacity", "--lambda0", "--lambda1", "--max-error", "--pin"),
    *("--gbps", "--latency-us", "--nvlink-gbps", "--nvlink-latency-us", "--pods", "--widths"),
    *("sql", "--scheduler", "--minutes"),
}
"""What takes text that is neither a file nor among names that there are."""

KINDS = ("boolean", "integer", "integer range", "float range", "choice")
"""Types whose values click completes by itself, and numbers."""


def test_whoever_takes_one_of_some_names_completes_them_all() -> None:
    begins = {
        f"{words} {parameter.opts[0]}": {
            one.value for one in parameter.shell_complete(context, "") if one.type == "plain"
        }
        for words, context in commands()
        for parameter in context.command.params
        if parameter.type.name not in (*KINDS, "path") and parameter.opts[0] not in FREE
    }
    of_files = {f"chakra {name} trace" for name in ("groups", "stats", "validate")}
    of_files.add("estimate --job")
    assert {where for where, names in begins.items() if not names - {""}} == of_files


def test_names_that_are_chosen_from_stand_in_the_packages_below_alone() -> None:
    typed = {
        f"{words} {parameter.opts[0]}"
        for words, context in commands()
        for parameter in context.command.params
        if isinstance(parameter.type, click.Choice)
    }
    assert typed == {"completion shell"}  # shells that click knows


REFUSED = {
    "--compute": ("estimate", "--topology", "mesh:2x2", "--workload", "resnet-50"),
    "--placement": ("estimate", "--topology", "mesh:5x4", "--workload", "resnet-152"),
    "--algorithm": ("collective", "--topology", "mesh:2x2"),
    "--pattern": ("collective", "--topology", "mesh:2x2"),
    "--section": ("reproduce",),
}
"""Commands that say what is allowed of an option."""


@pytest.mark.parametrize("option", REFUSED)
def test_names_that_are_completed_are_those_that_are_allowed(
    option: str, refused: Callable[..., str]
) -> None:
    words = REFUSED[option]
    said = refused(*words, option, "nonsense")
    completed = begun(words[0], option)
    assert completed
    if count := re.search(r"must be one of the (\d+) names", said):
        assert len(completed) == int(count[1])
    else:
        [allowed] = re.findall(rf"{option}: must be one of (.*), not 'nonsense'", said)
        assert completed == {name.removesuffix("K") for name in allowed.split(", ")}


def begun(command: str, option: str, begin: str = "", **given: str) -> set[str]:
    """Return what an option of a command is completed to, after others."""
    [(parameter, context)] = [
        (parameter, context)
        for name, context in commands()
        for parameter in context.command.params
        if name == command and option in parameter.opts
    ]
    context.params.update(given)
    return {one.value for one in parameter.shell_complete(context, begin)}


def test_keys_and_tests_are_those_of_what_is_asked_for() -> None:
    assert begun("estimate", "--npu", "efficiency.m") == {"efficiency.matmul="}
    assert begun("estimate", "--loggops", "G") == {"G="}
    assert begun("gen", "--set", "protocol.ph") == {"protocol.phases="}
    assert begun("gen", "--set", "wi", level="mesh") == {"width="}
    assert begun("sim", "--test") == set(benches.tests_of("interconnect"))
    assert begun("sim", "--test", level="switch") == set(benches.tests_of("switch"))


def test_workloads_of_a_cluster_are_those_that_it_takes() -> None:
    names = begun("cluster", "--workload")
    assert {"gpt-3", "llama-3-8b", "transformer-17b"} <= names <= set(WORKLOADS)
    assert not names & {"resnet-50", "resnet-152", "dlrm"}
    for name in names:
        assert load_transformer(name).layers > 1


def test_whoever_takes_a_file_completes_it() -> None:
    silent = {
        f"{words} {parameter.opts[0]}"
        for words, context in commands()
        for parameter in context.command.params
        if parameter.type.name not in KINDS
        and parameter.opts[0] not in FREE
        and not isinstance(parameter.type, Named)
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
    assert found == {
        "examples copy",
        "gen",
        "power",
        "sim",
        "report",
        "study optimize",
        "study run",
        "synth",
        "verify",
    }


def test_unknown_shell_is_refused(refused: Callable[..., str]) -> None:
    said = refused("completion", "tcsh")
    assert said.startswith("error: fred completion: Invalid value for '{bash|zsh|fish}': 'tcsh' ")
