"""Tests of gen.write."""

import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from gen.write import (
    check_file,
    check_files,
    check_folder,
    check_prefix,
    write_files,
    write_outputs,
)
from tests.calls import calls


def test_files_are_written_to_a_new_folder(tmp_path: Path) -> None:
    paths = write_files({"a.v": "a", "b.json": "b"}, tmp_path / "new" / "folder")
    assert [path.read_text() for path in paths] == ["a", "b"]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "a.v",
        "b.json",
    ]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(InputError, match=r"^.*/file: must be a folder, not a file$"):
        write_files({"a.v": "a"}, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("failing", ["write", "replace"])
def test_a_failure_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    (tmp_path / "out").mkdir()
    names = ["out/a.v", "out/new/n.v", "out/b.v", "out/c.v"]
    for name in ("a.v", "b.v", "c.v"):
        (tmp_path / "out" / name).write_text("old")
    calls = 0
    kind, name = (os, "fdopen") if failing == "write" else (Path, "replace")
    real = getattr(kind, name)

    def third_fails(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(kind, name, third_fails)
    with pytest.raises(InputError, match=r"must be a folder that can be .*: No space left"):
        write_outputs({tmp_path / name: "new" for name in names})
    assert [path.read_text() for path in sorted((tmp_path / "out").iterdir())] == 3 * ["old"]


def test_a_folder_in_place_of_a_file_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.v").write_text("old")
    (tmp_path / "b.v").mkdir()
    with pytest.raises(InputError, match=r"^.*/b\.v: must be a file, not a directory$"):
        write_files({"a.v": "new", "b.v": "new"}, tmp_path)
    assert (tmp_path / "a.v").read_text() == "old"


def test_a_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "a.csv"
    real.write_text("old")
    real.chmod(0o600)
    (tmp_path / "hop").symlink_to("real/a.csv")
    (tmp_path / "a.csv").symlink_to("hop")
    (tmp_path / "new.csv").symlink_to("real/new.csv")
    write_outputs({tmp_path / "a.csv": "new", tmp_path / "new.csv": "also"})
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == ("new", 0o600)
    assert (tmp_path / "real" / "new.csv").read_text() == "also"
    assert all((tmp_path / name).is_symlink() for name in ("a.csv", "hop", "new.csv"))
    assert sorted(path.name for path in (tmp_path / "real").iterdir()) == ["a.csv", "new.csv"]


def test_a_new_file_has_the_mode_that_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_outputs({tmp_path / "a": "text"})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with path.open() as reader:
        write_outputs({path: "new"})
        assert reader.read() == "old"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
@pytest.mark.parametrize("node", ["null", "full"])
def test_a_device_stays_one(tmp_path: Path, node: str) -> None:
    device, link, other = tmp_path / node, tmp_path / "link", tmp_path / "other"
    os.mknod(device, 0o666 | stat.S_IFCHR, Path("/dev", node).stat().st_rdev)
    link.symlink_to(node)
    other.write_text("old")
    if node == "null":
        write_outputs({device: "x", other: "new", link: "y"})
        assert other.read_text() == "new"
    else:
        message = (
            r"^.*/full: must be a file that can be written to, not .*: No space left on device$"
        )
        with pytest.raises(InputError, match=message):
            write_outputs({other: "new", device: "x"})
        assert other.read_text() == "old"
    assert stat.S_ISCHR(device.lstat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["link", node, "other"])


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()
    check_file(path)
    write_outputs({path: "through"})
    reader.join()
    assert got == ["through"]
    assert stat.S_ISFIFO(path.lstat().st_mode)


@pytest.mark.parametrize("form", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_an_open_file_is_written_on(tmp_path: Path, form: str) -> None:
    with (tmp_path / "log").open("w+") as file:
        file.write("before, ")
        file.flush()
        path = Path(form.format(file.fileno()))
        check_file(path)
        write_outputs({path: "after"})
        file.seek(0)
        assert file.read() == "before, after"
    assert [one.name for one in tmp_path.iterdir()] == ["log"]


def test_an_open_file_that_is_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("old")
    with (tmp_path / "log").open() as file:
        path = Path(f"/dev/fd/{file.fileno()}")
        with pytest.raises(
            InputError, match=r"must be a file that can be written to, not a read-only"
        ):
            check_file(path)
    with pytest.raises(InputError, match=r"must be a file that .*: Bad file descriptor$"):
        check_file(path)


@pytest.mark.parametrize("check", [check_file, lambda path: write_outputs({path: "x"})])
def test_what_is_no_file_is_refused(tmp_path: Path, check: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("old")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as ear:
        ear.bind("ear")
        for name, message in {
            ".": r"\.: must be a file, not a directory",
            "ear": "ear: must be a file, not a socket or a link to itself",
            "loop": "loop: must be a file, .*",
            "file/x": "file: must be a folder, not a file",
            300 * "n": r"n+\.\.\.n+: must be a file that can be .*: File name too long",
        }.items():
            with pytest.raises(InputError, match=f"^{message}$"):
                check(Path(name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ear", "file", "loop"]


def test_two_outputs_in_one_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match=r"/b: must be a file that no other path names$"):
        write_outputs({tmp_path / "a": "1", tmp_path / "b": "2"})
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file", "must be a folder, not a file"),
        ("file/x/y", "must be a folder, not a file"),
        ("link", "must be a folder, not a file"),
        ("n" * 300, "must be a folder that can be written to, .*: File name too long"),
        ("/proc/x", "must be a folder that can be written to, .*"),
    ],
)
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("nothing")
    with pytest.raises(InputError, match=f": {message}$"):
        check_folder(tmp_path / name)
    check_folder(tmp_path / "new" / "deeper")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_text_that_utf_8_lacks_is_written_all_the_same(tmp_path: Path) -> None:
    write_outputs({tmp_path / "a": "\udcff"})
    assert (tmp_path / "a").read_bytes() == rb"\udcff"


def test_files_are_checked_together(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "c").mkdir()
    check_files(tmp_path / name for name in "ab")
    with pytest.raises(InputError, match=r"/link: must be a file that no other path names$"):
        check_files((tmp_path / "a", tmp_path / "link"))
    with pytest.raises(InputError, match=r"/c: must be a file, not a directory$"):
        check_files(tmp_path / name for name in "abc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "link"]


def test_files_are_not_compared_each_with_each(tmp_path: Path) -> None:
    def check(count: int) -> None:
        check_files(tmp_path / f"w.{rank}.et" for rank in range(count))

    assert calls(lambda: check(2_000)) < 2.1 * calls(lambda: check(1_000))


def test_a_prefix_may_be_a_folder_but_not_end_in_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    check_prefix(str(tmp_path))
    check_prefix(str(tmp_path / "new" / "w"))
    for prefix in (f"{tmp_path}/", f"{tmp_path}/.", f"{tmp_path}/..", ".", "/"):
        with pytest.raises(InputError, match=r": must end with the beginning of a file name, not "):
            check_prefix(prefix)
    with pytest.raises(InputError, match=r"/file: must be a folder, not a file$"):
        check_prefix(str(tmp_path / "file" / "w"))
