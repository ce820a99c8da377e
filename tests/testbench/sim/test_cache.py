"""Tests of testbench.sim.cache."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from testbench.sim.cache import BUILDS, built, cache_folder, cpu_s, prune
from testbench.sim.tools import SimulatorError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FRED_HW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(folder: Path) -> None:
    (folder / "model").write_text("built")


def fail(folder: Path) -> None:
    write(folder)
    raise RuntimeError


def refuse(folder: Path) -> None:
    pytest.fail(f"built again: {folder}")


def test_what_is_there_is_not_built_again() -> None:
    BUILDS.clear()
    place = built("unit", ["text", "option"], write)
    assert (place / "model").read_text() == "built"
    assert [one.name for one in BUILDS] == ["unit"]
    assert built("unit", ["text", "option"], refuse) == place
    assert len(BUILDS) == 1


@pytest.mark.parametrize("content", [["texto", "ption"], ["text"], ["text", "option", ""]])
def test_other_content_has_another_place(content: list[str]) -> None:
    assert built("unit", content, write) != built("unit", ["text", "option"], write)


def test_a_build_that_fails_leaves_nothing(cache: Path) -> None:
    with pytest.raises(RuntimeError):
        built("unit", ["text"], fail)
    assert [path for path in cache.iterdir() if path.is_dir()] == []
    assert (built("unit", ["text"], write) / "model").exists()


@pytest.mark.parametrize(
    "content", [None, b"", b"buil", b"builT", bytes(range(1, 128, 2))], ids=str
)
@pytest.mark.parametrize("name", ["model", "contents.json"])
def test_what_is_damaged_is_built_again_and_said(
    name: str, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    place = built("unit", ["text"], write)
    if content is None:
        (place / name).unlink()
    else:
        (place / name).write_bytes(content)
    assert built("unit", ["text"], write) == place
    assert (place / "model").read_text() == "built"
    (said,) = caplog.messages
    assert said == f"{place}: was damaged and is built again"
    assert built("unit", ["text"], refuse) == place


@pytest.mark.parametrize("listing", ["[]", "{", "3", '{"model": 3}', "[" * 5000])
def test_a_listing_of_another_kind_is_damage(listing: str) -> None:
    place = built("unit", ["text"], write)
    (place / "contents.json").write_text(listing)
    built("unit", ["text"], write)
    assert built("unit", ["text"], refuse) == place


def test_files_in_folders_are_checked_too() -> None:
    def deep(folder: Path) -> None:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "model").write_text("built")

    place = built("unit", ["text"], deep)
    built("unit", ["text"], refuse)
    (place / "a" / "b" / "model").write_text("")
    built("unit", ["text"], deep)
    assert (place / "a" / "b" / "model").read_text() == "built"


def system(_: Path) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def compiler(_: Path) -> None:
    raise SimulatorError("clang++ could not build the model: No space left on device")


@pytest.mark.parametrize("build", [system, compiler])
def test_a_full_disk_names_the_cache(cache: Path, build: Callable[[Path], None]) -> None:
    message = f"^{cache}: must be a folder that can be written to, not one with: No space left .*"
    with pytest.raises(InputError, match=message):
        built("unit", ["text"], build)
    assert [path for path in cache.iterdir() if path.is_dir()] == []


def test_a_cache_that_is_no_folder_is_named(cache: Path) -> None:
    cache.write_text("a file")
    with pytest.raises(InputError, match=f"^{cache}: must be a folder that can be written to"):
        built("unit", ["text"], write)


def test_a_program_that_is_missing_is_no_fault_of_the_cache() -> None:
    def missing(_: Path) -> None:
        subprocess.run(["/no/such/program"], check=False)

    with pytest.raises(FileNotFoundError, match="/no/such/program"):
        built("unit", ["text"], missing)


def test_what_a_build_builds_for_itself_is_told_apart() -> None:
    def spend(_: Path) -> None:
        begun = cpu_s()
        while cpu_s() - begun < 0.1:
            pass

    BUILDS.clear()
    built("outer", ["1"], lambda _: spend(built("inner", ["2"], spend)))
    (inner, seconds), (outer, others) = ((one.name, one.cpu_s) for one in BUILDS)
    BUILDS.clear()
    assert (inner, outer) == ("inner", "outer")
    assert all(0.1 <= one < 0.19 for one in (seconds, others))


def test_one_process_builds_and_others_wait(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from testbench.sim.cache import built

def build(folder):
    with Path({str(tmp_path / "log")!r}).open("a") as log:
        log.write("built\\n")

built("unit", ["text"], build)
"""
    runs = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert (tmp_path / "log").read_text() == "built\n"


def test_long_unused_entries_go_and_recent_ones_stay() -> None:
    old, large, recent = (built(name, [name], write) for name in ("old", "large", "recent"))
    now = time.time()
    for place, days in ((old, 40), (large, 2), (recent, 0)):
        os.utime(place, (now, now - days * 24 * 3600))
    prune(kept_bytes=1 << 20, kept_days=30)
    assert [place.exists() for place in (old, large, recent)] == [False, True, True]
    prune(kept_bytes=8, kept_days=30)
    assert [place.exists() for place in (large, recent)] == [False, True]


def test_what_others_remove_meanwhile_is_passed_by() -> None:
    kept = built("kept", ["kept"], write)
    for folder in (cache_folder(), kept):
        (folder / "gone").symlink_to("nowhere")
    prune(kept_bytes=1 << 20, kept_days=30)
    assert kept.exists()


def test_cache_is_absolute_and_outside_of_the_working_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FRED_HW_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/somebody")
    assert cache_folder() == Path("/var/cache/somebody/fred-hw")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "fred-hw"
