"""Tests of gen.companions.core: FuseSoC runs the commands of docs/how-to/verilog.md."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fred_hw.load import load_spec
from gen.companions.core import core_file
from gen.design import generate
from gen.level import LEVELS
from gen.write import write_files
from testbench.sim.kept import kept

ROOT = Path(__file__).parents[3]
SHOWN = re.compile(r"^\$ PATH=\$PWD/\.venv/bin:\$PATH (fusesoc .* run .*)$", re.MULTILINE)
COMMANDS = SHOWN.findall((ROOT / "docs/how-to/verilog.md").read_text())


def fusesoc(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run FuseSoC in a folder, with the programs of this environment and no network."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "fusesoc.main", *words],
        cwd=folder,
        env={"PATH": programs, "HOME": str(folder), "http_proxy": "http://127.0.0.1:1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=["lint", "sim"])
def test_documented_commands_lint_and_simulate_an_interconnect(
    command: str, tmp_path: Path
) -> None:
    first, *words = shlex.split(command)
    assert first == "fusesoc"
    folder = tmp_path / words[words.index("--cores-root") + 1]
    design = kept(generate, load_spec("small-4"))
    assert words[-1] == f"fred-hw:interconnect:{design.name}"
    write_files(design.files(), folder)
    done = fusesoc(words, tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Building" in said
    assert not re.search(r"%(Warning|Error)", said)
    assert ("PASS fred_m3_p4_fp16x4" in said) == ("sim" in words)


@pytest.mark.sim
@pytest.mark.slow
def test_core_of_a_switch_simulates_and_sets_up_a_synthesis(tmp_path: Path) -> None:
    design = kept(generate, load_spec("tiny-2"), level="switch")
    write_files(design.files(), tmp_path / "cores")
    core = f"fred-hw:switch:{design.name}"
    done = fusesoc(["--cores-root", "cores", "run", "--target", "sim", core], tmp_path)
    assert done.returncode == 0 and f"PASS {design.name}" in done.stdout + done.stderr
    words = ["--cores-root", "cores", "run", "--setup", "--target", "synth", core]
    assert fusesoc(words, tmp_path).returncode == 0
    scripts = [path.read_text() for path in tmp_path.glob("build/*/synth*/*.tcl")]
    assert any(f"{design.name}.v" in text for text in scripts)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("yosys") is None, reason="needs the command yosys")
def test_core_of_an_interconnect_is_synthesized(tmp_path: Path) -> None:
    design = kept(generate, load_spec("tiny-2"))
    write_files(design.files(), tmp_path / "cores")
    core = f"fred-hw:interconnect:{design.name}"
    done = fusesoc(["--cores-root", "cores", "run", "--target", "synth", core], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    [netlist] = tmp_path.glob("build/*/synth*/*.blif")
    assert design.name in netlist.read_text()


@pytest.mark.parametrize("level", LEVELS)
def test_targets_are_those_of_the_level(level: str) -> None:
    core = yaml.safe_load(core_file("top", "1.2.3", level).removeprefix("CAPI=2:\n"))
    simulates = level in ("interconnect", "switch", "endpoint", "terminator")
    assert core["name"] == f"fred-hw:{level}:top:1.2.3"
    assert set(core["targets"]) == {"default", "lint", "synth"} | ({"sim"} if simulates else set())
    assert all(
        "bench" not in target["filesets"]
        for name, target in core["targets"].items()
        if name != "sim"
    )
