"""Tutorials and the guide to agents work as written, with their files saved and commands run."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .pages import ROOT, SAVED

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [*TUTORIALS, ROOT / SAVED]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"Save it as\s+`([^`]+)`:\s*$|Save this one as\s+`([^`]+)`:\s*$")


def steps(page: Path) -> Iterator[tuple[str, str, str]]:
    """Yield a file to save (name, text, "") or a command to run ("", command, output shown)."""
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        if block[1] == "console":
            for part in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield "", command, output
        else:
            saved = _SAVED.search(text[: block.start()])
            assert saved, f"{page.name}: a block of {block[1]} must follow 'Save it as `NAME`:'"
            yield saved[1] or saved[2], block[2], ""


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tutorial_works_as_written(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = 0
    for name, text, output in steps(page):
        if name:
            (tmp_path / name).write_text(text, encoding="utf-8")
        elif not text.startswith("export PATH="):
            done = subprocess.run(
                text,
                shell=True,
                cwd=tmp_path,
                env={**os.environ, "PATH": path, "COLUMNS": "160"},
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert done.returncode == 0, f"{text}: {done.stderr}"
            assert not output or done.stdout == output, text
            ran += 1
    assert ran >= (3 if page in TUTORIALS else 1)
