"""A register and a counter that are added to the map of a switch, and where they show up."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fred_hw

_WINDOW = 'Register("WINDOW", 0x018, "Limit", (constant("packets", 0, 8, 77, "Packets"),))'
_SERVED = '"served": "Cycles in which a phase was served"'

EDITS = {
    "control/switch_map.py": (
        ("*_identity(spec),", f"*_identity(spec), {_WINDOW},"),
        ('changes of configuration",\n}', f'changes of configuration",\n{_SERVED}}}'),
    ),
    # Only the core has the signal that is counted.
    "switch/core.py": (("sources = {\n", 'sources = {"served": active,\n'),),
}
"""Texts of files in ``fred_hw``, and what takes their place."""


@pytest.mark.sim
@pytest.mark.slow
def test_added_register_and_counter_are_in_header_page_and_simulation(tmp_path: Path) -> None:
    assert fred_hw.__file__
    shutil.copytree(Path(fred_hw.__file__).parent, tmp_path / "fred_hw")
    for name, changes in EDITS.items():
        file = tmp_path / "fred_hw" / name
        text = file.read_text("utf-8")
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        file.write_text(text, "utf-8")

    # The simulator, too, has to find the copy first.
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    header, page = run("-m", "gen.registers", "c", "tiny-2"), run("-m", "gen.registers")
    for name in ("_SERVED_OFFSET", "_WINDOW_PACKETS_VALUE"):
        assert name in header
    for text in ("| SERVED |", "Cycles in which a phase was served, modulo 2^32", "| WINDOW |"):
        assert text in page
    test = ("--sim", "icarus", "--level", "switch", "--test", "counters_agree_with_what_was_sent")
    fred = "from fred_cli.main import main; main()"
    (result,) = json.loads(run("-c", fred, "sim", "tiny-2", *test, "-o", "sim", "--json"))["runs"]
    found, meant = result["measurements"], result["figures"]
    assert found["CYCLES"] > found["SERVED"] > 0
    assert found["WINDOW"] == 77 and "PHASE" not in found
    assert meant["SERVED"]["meaning"] == "Cycles in which a phase was served, modulo 2^32"
