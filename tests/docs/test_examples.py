"""Programs of examples/ do what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fred_hw.protocol import CRC_BITS, HEADER_BITS

from .pages import ROOT


@pytest.mark.sim
def test_bytes_go_through_a_switch(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, ROOT / "examples/cocotbext_axi/run.py", tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout
    assert said.stdout.splitlines()[-1].startswith("1 test, 0 failed; AXI4-Stream: fred_m3_p4_")


def test_protocol_page_has_the_places_of_header_and_crc() -> None:
    text = (ROOT / "docs/protocol.md").read_text()
    assert f"| `tuser` | {HEADER_BITS - 1}:0 | the header" in text
    assert f"| `tuser` | {HEADER_BITS + CRC_BITS - 1}:{HEADER_BITS} | the CRC |" in text
