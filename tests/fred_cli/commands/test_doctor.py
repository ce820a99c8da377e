"""Tests of `fred doctor`."""

import re
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from fred_cli import commands, installation
from fred_cli.installation import EXTRAS
from testbench.sim.simulator import SIMULATORS
from tests.fred_cli import walk
from tests.fred_cli.fred import Fred


def test_what_is_installed_is_named_with_its_version(fred: Fred) -> None:
    said = fred.json("doctor")
    assert said["missing"] == [one["name"] for one in said["parts"] if one["version"] is None]
    found = {one["name"]: one for one in said["parts"] if one["kind"] == "package"}
    for name in ("fred-hw", "amaranth", "cocotb", "pytest"):
        assert found[name]["version"] == version(name)
    assert "fred sim" in found["cocotb"]["enables"]
    assert found["cocotb"]["install"] == "pip install 'fred-hw[sim]'"
    there = {one["name"]: one for one in said["parts"] if one["kind"] == "simulator"}
    assert there.keys() == SIMULATORS.keys()
    for name, simulator in SIMULATORS.items():
        assert (there[name]["version"] is None) is (simulator.find() is None)
        assert there[name]["version"] != "0"


def test_what_is_missing_says_what_it_would_enable(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    usual = installation._version
    monkeypatch.setattr(
        installation, "_version", lambda name: None if name == "plotly" else usual(name)
    )
    out = fred.out("doctor")
    installed, _, missing = out.partition("Missing")
    assert "amaranth" in installed
    for name in ("icarus", "clang++-19", "sta", "plotly"):
        [line] = [line for line in missing.splitlines() if line.split()[:1] == [name]]
        assert "fred" in line or "Verilator" in line
    assert "pip install 'fred-hw[report]'" in missing
    assert "Debian's package iverilog" in missing


def test_every_extra_says_what_it_enables() -> None:
    packages = [part for part in installation.parts() if part.kind == "package"]
    extras = {part.install.partition("[")[2].rstrip("]'") for part in packages} - {""}
    assert extras <= set(installation.EXTRAS)


CHARTS = "need_plotly()", "fred-hw[report]"
"""What commands call that draw charts, and the extra that it names."""


def test_every_command_that_names_an_extra_is_among_what_it_enables() -> None:
    found = {
        (extra, path.stem)
        for path in Path(commands.__file__).parent.glob("*.py")
        for extra in re.findall(r"fred-hw\[(\w+)\]", path.read_text().replace(*CHARTS))
    }
    assert {("report", "cluster"), ("synth", "synth")} <= found
    silent = {(extra, name) for extra, name in found if f"fred {name}" not in EXTRAS[extra]}
    assert silent == set()


def test_every_option_that_doctor_names_exists() -> None:
    known = {
        f"fred {words} {option}"
        for words, context in walk.commands()
        for one in context.command.params
        for option in one.opts
    }
    named = set(re.findall(r"fred \w+ --\w+", " ".join(EXTRAS.values())))
    assert named and named <= known


def test_a_program_that_says_no_version_or_nothing_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert installation._said("true", "--nothing") == ""
    assert installation._said("no-such-program", "--version") == ""
