"""Tests of the scripts."""

import re
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "scripts").glob("*.sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_writes_a_fixed_name_in_a_shared_folder(script: Path) -> None:
    """Somebody else could have put a link of that name there."""
    assert not re.search(r"/(var/)?tmp/|/dev/shm/|\$\{?TMPDIR", script.read_text())
