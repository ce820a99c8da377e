"""Tests of testbench.sim.compiler."""

import ctypes
from pathlib import Path

import pytest

from testbench.sim.compiler import find_compiler, shared_library
from testbench.sim.tools import SimulatorError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRED_HW_CACHE", str(tmp_path))


def test_a_library_is_called() -> None:
    header, source = "constexpr int ANSWER = 42;", '#include "a.hpp"\nextern "C" int answer() '
    sources = {"a.hpp": header, "a.cpp": source + "{ return ANSWER; }"}
    assert ctypes.CDLL(str(shared_library("answer", sources))).answer() == 42


def test_a_library_that_cannot_be_built_says_why() -> None:
    with pytest.raises(SimulatorError, match=r"^\S+ could not build the model: (?s:.*)nothing"):
        shared_library("answer", {"a.cpp": "int answer() { return nothing; }"})


def test_the_quickest_compiler_that_is_installed_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("g++", "clang++", "clang++-19"):
        (tmp_path / name).touch(0o755)
        assert find_compiler("endpoint") == str(tmp_path / name)
    monkeypatch.setenv("CXX", "c++")
    assert find_compiler("endpoint") == "c++"


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        SimulatorError, match=r"^endpoint needs clang\+\+ or g\+\+, which are not installed$"
    ):
        find_compiler("endpoint")
