"""Tests of gen.companions.vlt: what Verilator 5.006 and later versions read."""

import re
from pathlib import Path

import pytest

from fred_hw.load import load_spec
from fred_hw.mesh.spec import MeshSpec
from gen.companions.vlt import lint_waivers
from gen.design import generate
from gen.level import LEVELS
from gen.write import write_files
from testbench.sim.kept import kept
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
            for n in ("switch", "endpoint", "terminator", "mesh", "router")
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
