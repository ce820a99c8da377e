"""Tests of gen.companions.vlt: what Verilator 5.006 and later versions read."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fred_hw.load import load_spec
from fred_hw.mesh.spec import MeshSpec
from gen.companions.vlt import lint_waivers
from gen.design import generate
from gen.level import LEVELS
from gen.write import write_files
from testbench.sim.kept import kept
from testbench.sim.tools import verilator_bin
from tests.gen.tools import debian_verilator, lint

WAIVER = re.compile(r'lint_off -rule ([A-Z]+) -file "\*some_name\.v"')

RULES_5_006 = {
    *("BLKSEQ", "CASEINCOMPLETE", "CMPCONST", "COMBDLY", "DECLFILENAME", "DEFPARAM", "EOFNEWLINE"),
    *("IMPORTSTAR", "INCABSPATH", "PINCONNECTEMPTY", "PINNOCONNECT", "SYNCASYNCNET", "TICKCOUNT"),
    *("UNDRIVEN", "UNOPTFLAT", "UNSIGNED", "UNUSEDGENVAR", "UNUSEDPARAM", "UNUSEDSIGNAL"),
    *("VARHIDDEN", "WIDTH", "WIDTHCONCAT"),
}
"""Rules of style and of widths in the program of Debian 12; it stops at a rule of another name."""


def test_waivers_are_those_that_the_oldest_version_knows() -> None:
    first, *lines = lint_waivers("some_name").splitlines()
    assert first == "`verilator_config"
    assert all(line.startswith("// ") for line in lines[::2])
    found = [WAIVER.fullmatch(line) for line in lines[1::2]]
    rules = [match[1] for match in found if match]
    assert len(rules) == len(found) > 0
    assert set(rules) <= RULES_5_006


MESH = MeshSpec(width=1, height=2, lanes=1, format="int8", controllers=False)


@pytest.mark.sim
@pytest.mark.parametrize(
    "level",
    [
        "interconnect",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("switch", "endpoint", "mesh", "router")
        ),
    ],
)
def test_verilator_of_debian_finds_nothing(level: str, tmp_path: Path) -> None:
    program = debian_verilator()
    if program is None:
        pytest.skip("no Verilator but the one that comes with the benches")
    spec = MESH if LEVELS[level].model is MeshSpec else load_spec("tiny-2")
    design = kept(generate, spec, level=level)
    write_files(design.files(), tmp_path)
    files = f"{design.name}.vlt", f"{design.name}.v"
    assert lint(tmp_path, design.name, *files, program=program) == (0, "")


@pytest.mark.sim
def test_verilator_of_debian_does_find_what_is_not_waived(tmp_path: Path) -> None:
    program = debian_verilator()
    if program is None:
        pytest.skip("no Verilator but the one that comes with the benches")
    (tmp_path / "top.vlt").write_text(lint_waivers("top"))
    (tmp_path / "top.v").write_text("module top(input a); endmodule\nmodule b; endmodule\n")
    status, said = lint(tmp_path, "top", "top.vlt", "top.v", program=program)
    assert (status, said) == (0, "")
    (tmp_path / "top.v").write_text("module top(input a, output q); sub s(a); endmodule\n")
    status, said = lint(tmp_path, "top", "top.vlt", "top.v", program=program)
    assert status != 0 and "sub" in said


README = re.compile(r"`(fusesoc --cores-root DIR run --target lint fred-hw:interconnect:NAME)`")


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("which", ["of Debian", "of the benches"])
def test_command_of_the_readme_lints_without_a_word(which: str, tmp_path: Path) -> None:
    program = debian_verilator()
    place = verilator_bin() if which == "of the benches" else program and program.parent
    if not place:
        pytest.skip("no Verilator but the one that comes with the benches")
    design = kept(generate, load_spec("small-4"))
    write_files(design.files(), tmp_path / "cores")
    [command] = README.findall((Path(__file__).parents[3] / "README.md").read_text())
    first, *words = command.replace("DIR", "cores").replace("NAME", design.name).split()
    assert first == "fusesoc"
    programs = f"{place}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said = subprocess.run(
        # The program of that name says where this Python was when it was installed.
        [sys.executable, "-m", "fusesoc.main", *words],
        cwd=tmp_path,
        # Nothing of the user's, and no network.
        env={"PATH": programs, "HOME": str(tmp_path), "http_proxy": "http://127.0.0.1:1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert not re.search(r"%(Warning|Error)", said.stdout + said.stderr)
    log = said.stdout + said.stderr
    assert "Building" in log
