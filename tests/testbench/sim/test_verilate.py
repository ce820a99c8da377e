"""Tests of testbench.sim.verilate."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from testbench.sim import verilate
from testbench.sim.compiler import run_tool
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


def test_the_runtime_is_compiled_once_for_all_programs(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_cache / "small.cpp").write_text("int small() { return 7; }")
    # Verilator's header takes seconds to read, and is not in it.
    tools = replace(verilate._tools(False), include=own_cache, header_read=False)
    compiled: list[str] = []

    def run(command: Sequence[str], work: Path) -> object:
        compiled.extend(Path(word).name for word in command if word.endswith(".cpp"))
        return run_tool(command, work)

    monkeypatch.setattr(verilate, "_tools", lambda _: tools)
    monkeypatch.setattr(verilate, "_RUNTIME", ("small",))
    monkeypatch.setattr(verilate, "run_tool", run)

    def ends_with(more: int) -> int:
        main = f"int small(); int main() {{ return small() + {more}; }}"
        program = verilate.link_models(f"with_{more}", {"main.cpp": main}, ())
        return subprocess.run([program], check=False).returncode

    assert [ends_with(1), ends_with(2)] == [8, 9]
    assert sorted(compiled) == ["main.cpp", "main.cpp", "small.cpp"]


@pytest.mark.parametrize(
    ("files", "parts"), [(8, ["a", "b", "c", "s"]), (2, ["ac", "bs"]), (1, ["abcs"])]
)
def test_files_of_a_model_are_joined_to_few(files: int, parts: list[str], tmp_path: Path) -> None:
    kinds = {"classes_fast": "abc", "support_fast": "s", "classes_slow": "z", "support_slow": "y"}
    sources = {kind: [f"/work/{name}.cpp" for name in names] for kind, names in kinds.items()}
    (tmp_path / "Vt.json").write_text(json.dumps({"sources": sources}))
    tools = replace(verilate._tools(False), files=files)
    made = verilate._model(tools, tmp_path, "Vt", "-O2")
    read = [(tmp_path / file).read_text() for file, _ in made]
    assert read == ["".join(f'#include "{name}.cpp"\n' for name in one) for one in [*parts, "zy"]]
    assert [level for _, level in made] == ["-O2"] * len(parts) + ["-O0"]
