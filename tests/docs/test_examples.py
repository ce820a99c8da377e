"""Programs and notebooks of examples/ do what they say."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fred_hw.protocol import CRC_BITS, HEADER_BITS

from .pages import ROOT


@pytest.mark.slow
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
    text = (ROOT / "docs/reference/protocol.md").read_text()
    assert f"| `tuser` | bits {HEADER_BITS - 1}:0 | the header" in text
    assert f"| `tuser` | bits {HEADER_BITS + CRC_BITS - 1}:{HEADER_BITS} | the CRC |" in text


@pytest.mark.slow
def test_one_trace_on_three_fabrics_is_one_chart(tmp_path: Path) -> None:
    """And the page shows the commands of the example, and what they say."""
    script, page = (
        ROOT / one for one in ("examples/trace-to-chart.sh", "docs/how-to/astra-sim.md")
    )
    text = page.read_text(encoding="utf-8")
    lines = [line for line in script.read_text().splitlines() if line.startswith(("$fred", "  "))]
    assert "\n".join(line.replace("$fred", "fred") for line in lines) in text
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "build").mkdir()
    fred = str(Path(sys.executable).with_name("fred"))
    said = subprocess.run(
        ["sh", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FRED": fred},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    rows = [line.split() for line in said.stdout.splitlines()[-5:] if "," in line]
    assert [row[0] for row in rows] == ["fred-d", "mesh:5x4", "examples/gpu-cluster.yaml"]
    for name, total, *_, exposed in rows:
        ms = [f"{int(ns.replace(',', '')) / 1e6:.3f} ms" for ns in (total, exposed)]
        assert f"| `{name}` | {ms[0]} | {ms[1]} |" in text
    chart = (tmp_path / "build" / "fabrics.html").read_text(encoding="utf-8")
    assert all(
        f"{name}: {total} ns" in chart
        for (_, total, *_), name in zip(rows, ("fred-d", "mesh:5x4", "gpu-cluster"), strict=True)
    )


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
WRITTEN = {
    "my-wafer-my-model": ("strategies.parquet", "strategies.html"),
    "one-switch": ("fred_m3_p8_fp16x2.v", "fred_m3_p8_fp16x2.json"),
}
"""What is in the folder of a notebook afterwards."""


def cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook that hold code."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_committed_without_outputs(path: Path) -> None:
    assert cells(path)
    assert [cell for cell in cells(path) if cell["outputs"] or cell["execution_count"]] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_writes_its_files(path: Path, tmp_path: Path) -> None:
    for one in (*NOTEBOOKS, *(ROOT / "examples").glob("*.yaml")):
        shutil.copy(one, tmp_path)
    program = "from nbclient.cli import main\nmain()"
    said = subprocess.run(
        [sys.executable, "-c", program, "--inplace", path.name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    done = cells(tmp_path / path.name)
    assert [cell["execution_count"] for cell in done] == list(range(1, len(done) + 1))
    folder = tmp_path / "build" / path.stem
    assert all((folder / name).stat().st_size for name in WRITTEN[path.stem])
