"""Tests of testbench.sim.tools."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest

from testbench.sim import tools, verilate
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


def test_models_of_another_version_are_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[Sequence[str]] = []

    def keep(_name: str, key: Sequence[str], _build: object) -> Path:
        keys.append(key)
        return Path()

    def made(version: str) -> list[Sequence[str]]:
        keys.clear()
        monkeypatch.setattr(verilate, "verilator_version", lambda: version)
        verilate.verilate("module top; endmodule", "top", {})
        return list(keys)

    monkeypatch.setattr(verilate, "built", keep)
    before, after = made("5.48.0"), made("9.8.7")
    changed = [set(one) - set(other) for one, other in zip(before, after, strict=True)]
    assert changed == [{"5.48.0"}] * len(before) != []
