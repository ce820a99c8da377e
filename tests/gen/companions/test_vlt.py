"""Tests of gen.companions.vlt: what Verilator 5.006 and later versions read."""

import re
import shutil
from pathlib import Path

import pytest

from fred_hw.load import load_spec
from gen.companions.vlt import lint_waivers
from gen.design import generate
from gen.write import write_files
from tests.gen.tools import lint

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


@pytest.mark.sim
@pytest.mark.parametrize("level", ["interconnect", "switch"])
def test_verilator_of_the_system_finds_nothing(level: str, tmp_path: Path) -> None:
    program = shutil.which("verilator")
    if program is None:
        pytest.skip("no Verilator but the one that comes with the benches")
    design = generate(load_spec("tiny-2"), level=level)
    write_files(design.files(), tmp_path)
    files = f"{design.name}.vlt", f"{design.name}.v"
    assert lint(tmp_path, design.name, *files, program=Path(program)) == (0, "")
