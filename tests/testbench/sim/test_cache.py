"""Tests of testbench.sim.cache."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbench.sim.cache import BUILDS, built, cache_folder, cpu_s, prune


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
