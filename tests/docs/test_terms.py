"""Codespell finds every term of docs/terms.txt, which the glossary replaces."""

import subprocess
import sys
from pathlib import Path

import pytest

from .pages import ROOT

TERMS = [
    line.partition("->")[0]
    for line in (ROOT / "docs/terms.txt").read_text("utf-8").splitlines()
    if line
]


@pytest.mark.parametrize("term", TERMS)
def test_term_is_found_on_a_page(term: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"The link has a {term} here.\n", "utf-8")
    command = [Path(sys.executable).with_name("codespell"), "--toml", "pyproject.toml", page]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"page.md:1: {term} ==> " in done.stdout
