"""Tests of testbench.sim.kept."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fred_hw.formats.number_format import FORMATS
from fred_hw.spec import SwitchSpec
from gen.design import generate
from gen.emitter import VerilogEmitter
from testbench.faults.datapath import operand_dropped
from testbench.faults.fault import Fault, FaultyEmitter
from testbench.sim import kept as module
from testbench.sim.kept import Kept, Written, kept

TINY = SwitchSpec(ports=2, lanes=1, format="int8", adder_registers=0)
LEVEL = "interconnect"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FRED_HW_CACHE", str(tmp_path / "cache"))
    # Who has just edited a source would see nothing kept, as it should be.
    states = [(*state[:2], 0, state[3]) for state in module._states(module._roots())]
    monkeypatch.setattr(module, "_states", lambda _: iter(states))
    return tmp_path / "cache"


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the modules that were generated since, without a text but its number."""
    names: list[str] = []

    def verilog(emitter: FaultyEmitter) -> str:
        names.append(emitter.modules[-1])
        return f"// {len(names)}"

    monkeypatch.setattr(FaultyEmitter, "verilog", verilog)
    return names


def folders(cache: Path) -> list[Path]:
    return [path for path in cache.glob("*") if path.is_dir()]


def test_what_is_kept_is_what_is_generated() -> None:
    design = generate(TINY)
    for _ in range(2):
        assert kept(generate, TINY) == design


@pytest.mark.parametrize("content", [b"", bytes(range(1, 200, 2)), b"cos\nsystem\n(S'exit 3'\ntR."])
def test_a_damaged_design_is_generated_again_and_runs_nothing(
    content: bytes, cache: Path, generated: list[str]
) -> None:
    kept(generate, TINY)
    (folder,) = folders(cache)
    (folder / "design.json").write_bytes(content)
    assert kept(generate, TINY).verilog == "// 2"
    assert kept(generate, TINY).verilog == "// 2"


def test_a_kept_design_has_the_files_of_a_generated_one() -> None:
    design, again = (kept(generate, TINY) for _ in range(2))
    assert again.spec is TINY
    assert again.files() == design.files()


def test_what_is_there_is_only_read(generated: list[str]) -> None:
    one, other = (kept(generate, TINY) for _ in range(2))
    assert one == other and one.verilog == "// 1"
    assert generated == [TINY.name]


@pytest.mark.parametrize(
    ("spec", "faults", "level"),
    [
        (TINY.with_changes(overflow="wrap"), (), {}),
        (TINY, (operand_dropped,), {}),
        (TINY, (), {"level": LEVEL}),
    ],
    ids=["specification", "faults", "level"],
)
def test_what_is_asked_for_tells_designs_apart(
    spec: SwitchSpec, faults: tuple[Fault, ...], level: dict[str, str], generated: list[str]
) -> None:
    assert kept(generate, TINY).verilog == "// 1"
    for _ in range(2):
        assert kept(generate, spec, faults, **level).verilog == "// 2"
    assert len(generated) == 2


@pytest.mark.parametrize("change", ["renamed", "edited"])
def test_other_sources_make_another_design(
    change: str, tmp_path: Path, generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(generate, TINY)
    (name, path, changed, size), *others = module._states(module._roots())
    other = tmp_path / "other.py"
    other.write_bytes(path.read_bytes() + (b"#" if change == "edited" else b""))
    one = (f"{name}{'2' if change == 'renamed' else ''}", other, changed, size)
    monkeypatch.setattr(module, "_states", lambda _: iter([one, *others]))
    kept(generate, TINY)
    assert len(generated) == 2


def test_other_tools_make_another_design(
    generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(generate, TINY)
    module._digest.cache_clear()
    monkeypatch.setattr(module.metadata, "version", lambda tool: f"{tool} of tomorrow")
    kept(generate, TINY)
    module._digest.cache_clear()
    assert len(generated) == 2


def test_nothing_is_kept_while_a_source_has_changed_since_the_process_began(
    cache: Path, generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(generate, TINY)
    (name, path, _, size), *others = module._states(module._roots())
    begun = module._process().create_time()
    monkeypatch.setattr(
        module, "_states", lambda _: [(name, path, int(begun * 1e9), size), *others]
    )
    for _ in range(2):
        assert kept(generate, TINY).name == TINY.name
    assert len(generated) == 3 and len(folders(cache)) == 1


def test_nothing_is_kept_if_a_source_changes_meanwhile(
    cache: Path, generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (name, path, changed, size), *others = module._states(module._roots())
    later = [(name, path, time.time_ns(), size), *others]
    answers: Iterator[list[tuple[str, Path, int, int]]] = iter(
        [[(name, path, changed, size), *others], later]
    )
    monkeypatch.setattr(module, "_states", lambda _: next(answers))
    assert kept(generate, TINY).verilog == "// 1"
    assert len(generated) == 1 and folders(cache) == []


def test_times_of_changes_are_those_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy may have an old time of modification, and yet be new here."""
    monkeypatch.undo()
    source = tmp_path / "unit.py"
    source.write_text("")
    os.utime(source, (1, 1))
    for roots in ([tmp_path], [source]):
        assert [one[1] for one in module._states(roots)] == [source]
    ((name, path, changed_ns, size),) = module._states([tmp_path])
    assert (name, path, size) == (f"{tmp_path.name}/unit.py", source, 0)
    assert abs(changed_ns - time.time_ns()) < 60e9
    assert module.source_digest(tmp_path) is None


def other_writer(spec: SwitchSpec, emitter: VerilogEmitter) -> Written:
    return Kept("other", f"// {spec.name}")


def test_what_others_write_is_not_kept(cache: Path, generated: list[str]) -> None:
    assert kept(other_writer, TINY) == Kept("other", f"// {TINY.name}")
    assert kept(generate, TINY, [replace(operand_dropped, disturb=lambda *_: None)]).name
    with FORMATS.lending("newcomer", FORMATS["int8"]):
        kept(generate, TINY)
    assert len(generated) == 2 and folders(cache) == []


def test_the_process_that_runs_this_is_as_old_as_it_is() -> None:
    assert 0 < time.time() - module._process().create_time() < 24 * 3600
