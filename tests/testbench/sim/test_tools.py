"""Tests of testbench.sim.tools."""

from importlib.metadata import version
from pathlib import Path

import pytest

from testbench.sim import tools
from testbench.sim.tools import verilator_version


@pytest.fixture(autouse=True)
def forgotten() -> None:
    tools.verilator_says.cache_clear()


def program(folder: Path, says: str) -> Path:
    path = folder / "verilator"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return folder


def test_version_is_what_the_program_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(program(tmp_path, "Verilator 5.040 2025-08-30")))
    assert verilator_version() == "5.040"


def test_program_without_a_version_has_that_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "verilator_bin", lambda: program(tmp_path, " rev vUNKNOWN-built"))
    assert verilator_version() == version("verilator")


def test_version_of_what_is_not_installed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "verilator_bin", lambda: None)
    assert verilator_version() is None
