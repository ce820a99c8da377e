"""Tests of `fred examples`."""

from collections.abc import Callable
from pathlib import Path

from tests.fred_cli.fred import Fred

ROOT = Path(__file__).parents[3]
FILES = sorted(
    path.relative_to(ROOT / "examples")
    for path in (ROOT / "examples").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
)


def test_all_files_are_listed(fred: Fred) -> None:
    rows = fred.json("examples", "list")["examples"]
    assert [Path(row["file"]) for row in rows] == FILES
    said = {row["file"]: row["for"] for row in rows}
    assert said["fred-16.yaml"].startswith("A fabric of your own")
    assert all(text for name, text in said.items() if name.endswith((".yaml", ".yml", ".py")))
    assert "fred-16.yaml" in fred.out("examples", "list")


def test_files_are_copied_byte_by_byte(fred: Fred, tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    assert fred.out("examples", "copy", "-o", str(folder)).startswith(f"{len(FILES)} files")
    for path in FILES:
        assert (folder / path).read_bytes() == (ROOT / "examples" / path).read_bytes()


def test_some_files_are_copied(fred: Fred, tmp_path: Path) -> None:
    folder = tmp_path / "some"
    found = fred.json("examples", "copy", "fred-16.yaml", "libra/gpt-3.txt", "-o", str(folder))
    assert found["files"] == [str(folder / "fred-16.yaml"), str(folder / "libra/gpt-3.txt")]
    assert sum(path.is_file() for path in folder.rglob("*")) == 2


def test_unknown_and_existing_files_are_refused(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    said = refused("examples", "copy", "fred-61.yaml", "-o", str(tmp_path))
    assert said == (
        "error: FILE: must be a file that 'fred examples list' lists, not 'fred-61.yaml'; "
        "did you mean 'fred-16.yaml'?"
    )
    folder = tmp_path / "mine"
    folder.mkdir()
    kept = folder / "ring-2.goal"
    kept.write_text("mine")
    said = refused("examples", "copy", "fred-16.yaml", "ring-2.goal", "-o", str(folder))
    assert said == f"error: {kept}: must be a new file, not one that exists"
    assert kept.read_text() == "mine" and list(folder.iterdir()) == [kept]
