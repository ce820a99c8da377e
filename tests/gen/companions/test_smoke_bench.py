"""Tests of gen.companions.smoke_bench: it passes on what is generated and fails on what is not."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from gen.companions.smoke_bench import smoke_bench
from gen.design import generate
from testbench.sim.kept import kept
from testbench.sim.tools import icarus_bin

TINY: dict[str, Any] = {"ports": 2, "format": "int8", "lanes": 1}

pytestmark = [
    pytest.mark.sim,
    pytest.mark.skipif(icarus_bin() is None, reason="Icarus Verilog is not installed"),
]


def simulate(name: str, verilog: str, bench: str, folder: Path) -> str:
    """Return what a bench prints in Icarus."""
    (folder / "top.v").write_text(verilog)
    (folder / "bench.v").write_text(bench)
    place = icarus_bin()
    assert place
    compiled = folder / "bench"
    words = ["-g2005", "-s", f"{name}_tb", "-o", str(compiled), "top.v", "bench.v"]
    subprocess.run([place / "iverilog", *words], cwd=folder, check=True)
    ended = subprocess.run([place / "vvp", compiled], capture_output=True, text=True, check=True)
    return ended.stdout


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"operation": "max"},
        {"ports": 5, "format": "bf16", "lanes": 3},
        {"ports": 4, "stage_registers": 2, "format": "fp16"},
        {"format": "tf32"},
        {"format": "fp6_e2m3"},
        {"format": "uint8"},
    ],
    ids=lambda changes: " ".join(f"{value}" for value in changes.values()) or "tiny",
)
def test_interconnect_passes(changes: dict[str, Any], tmp_path: Path) -> None:
    design = generate(SwitchSpec(**{**TINY, **changes}))
    said = simulate(design.name, design.verilog, smoke_bench(design), tmp_path)
    assert said.splitlines()[-1] == f"PASS {design.name}"


@pytest.mark.slow
def test_interconnect_of_another_latency_fails(tmp_path: Path) -> None:
    slower = generate(SwitchSpec(**TINY, stage_registers=2))
    bench = smoke_bench(generate(SwitchSpec(**TINY)))
    quick = generate(SwitchSpec(**TINY)).name
    verilog = slower.verilog.replace(f"module {slower.name}(", f"module {quick}(")
    assert "FAIL" in simulate(quick, verilog, bench, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["switch", "endpoint"])
def test_registers_are_read(level: str, tmp_path: Path) -> None:
    design = kept(generate, SwitchSpec(**TINY), level=level)
    bench = smoke_bench(design)
    assert "// ID" in bench and "// VERSION" in bench
    said = simulate(design.name, design.verilog, bench, tmp_path)
    assert said.splitlines()[-1] == f"PASS {design.name}"
    wrong = re.sub(r"32'h0*0, 32'h[0-9a-f]{8}", "32'h0, 32'h12345678", bench)
    assert "FAIL" in simulate(design.name, design.verilog, wrong, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("flits", [8, 1])
def test_a_terminator_receives_its_own_packet(flits: int, tmp_path: Path) -> None:
    sizes = ProtocolSpec(packet_flits=flits, round_trip_cycles=8, buffer_packets=8)
    spec = SwitchSpec(**TINY, protocol=sizes)
    design = kept(generate, spec, level="terminator")
    bench = smoke_bench(design)
    said = simulate(design.name, design.verilog, bench, tmp_path)
    assert said.splitlines() == [f"PASS {design.name}"]
    damaged = bench.replace("s_axis_tdata = m_axis_tdata", "s_axis_tdata = ~m_axis_tdata")
    assert "0 of" in simulate(design.name, design.verilog, damaged, tmp_path)
    changed = bench.replace("s_axis_mp_tdata = taken + 1", "s_axis_mp_tdata = taken + 2")
    assert "FAIL" in simulate(design.name, design.verilog, changed, tmp_path)
