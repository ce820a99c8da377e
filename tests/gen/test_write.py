"""Tests of gen.write."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from gen.write import write_files


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


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files({"a.v": "old", "b.v": "old"}, tmp_path)
    real = Path.write_text

    def failing(self: Path, text: str, **options: str) -> int:
        if self.name == "b.v":
            raise OSError(28, "No space left on device")
        return real(self, text, **options)

    monkeypatch.setattr(Path, "write_text", failing)
    with pytest.raises(InputError, match=r"must be a folder that can be .*: No space left"):
        write_files({"a.v": "new", "b.v": "new"}, tmp_path)
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ["old", "old"]


def test_a_folder_in_place_of_a_file_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.v").write_text("old")
    (tmp_path / "b.v").mkdir()
    with pytest.raises(InputError, match=r"^.*/b\.v: must be a file, not a directory$"):
        write_files({"a.v": "new", "b.v": "new"}, tmp_path)
    assert (tmp_path / "a.v").read_text() == "old"
