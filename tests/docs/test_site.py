"""The documentation site builds without a warning: every link, anchor and page is in its place."""

import subprocess
import sys
from pathlib import Path

import pytest

from .pages import ROOT


@pytest.mark.slow
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "kept"), str(ROOT / "docs"), str(site)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {page.stem for page in (ROOT / "docs").rglob("*.md")} <= {
        page.stem for page in site.rglob("*.html")
    }
    index = (site / "index.html").read_text(encoding="utf-8")
    assert "tutorials/first-switch.html" in index
    # Nothing is fetched: the pages work from a folder.
    assert "//cdn" not in index and "fonts.googleapis" not in index
