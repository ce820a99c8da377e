"""Tests of testbench.sim.verilate."""

import subprocess
from pathlib import Path

import pytest

from testbench.sim import verilate
from testbench.sim.tools import SimulatorError, verilator_bin

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(verilator_bin() is None, reason="Verilator is not installed"),
]

MAIN = '#include "verilated.h"\n#include <deque>\nint main() { return std::deque{40, 2}.front(); }'


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FRED_HW_CACHE", str(tmp_path))
    # The runtime takes ten seconds to compile, and nothing of it is called.
    monkeypatch.setattr(verilate, "_RUNTIME", ())
    return tmp_path


def test_a_header_that_was_read_is_read_anew_when_it_has_changed(own_cache: Path) -> None:
    def ends_with(name: str) -> int:
        program = verilate.link_models(name, {"main.cpp": MAIN}, ())
        return subprocess.run([program], check=False).returncode

    assert ends_with("before") == 40
    read = list(own_cache.glob("header-*/header.pch"))
    for one in read:  # as if it were that of another compiler
        one.write_bytes(b"CPCH" + bytes(1000))
    assert ends_with("behind") == 40


def test_what_cannot_be_compiled_says_why() -> None:
    with pytest.raises(SimulatorError, match=r"^\S+ could not build the model: (?s:.*)nothing"):
        verilate.link_models("wrong", {"main.cpp": MAIN.replace("40", "nothing")}, ())
