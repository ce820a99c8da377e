"""Proof by Yosys that two mapped designs do the same."""

import subprocess
import sys
from pathlib import Path

__all__ = ["equivalent"]

_SCRIPT = """\
from pyosys import libyosys as yosys
design = yosys.Design()
for command in '''{commands}'''.splitlines():
    yosys.run_pass(command, design)
"""

_COMMANDS = """\
read_liberty -ignore_miss_func {library}
read_verilog gold.v
hierarchy -check -top {top}
flatten
opt_clean
design -stash gold
read_liberty -ignore_miss_func {library}
read_verilog gate.v
hierarchy -check -top {top}
flatten
opt_clean
design -stash gate
design -copy-from gold -as gold {top}
design -copy-from gate -as gate {top}
"""

_SAME_NAMES = """\
equiv_make gold gate both
hierarchy -top both
equiv_simple
equiv_induct
equiv_status -assert"""

_NO_REGISTERS = """\
miter -equiv -flatten gold gate both
hierarchy -top both
sat -verify -prove trigger 0 both"""


def equivalent(
    gold: str, gate: str, top: str, library: Path, folder: Path, *, names: bool = True
) -> bool:
    """Return whether two designs of cells do the same.

    Nets of the same name are the same; without ``names`` there are no registers, and it does not
    matter how nets are called.
    """
    (folder / "gold.v").write_text(gold)
    (folder / "gate.v").write_text(gate)
    commands = _COMMANDS.format(library=library, top=top)
    commands += _SAME_NAMES if names else _NO_REGISTERS
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(commands=commands)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = run.stdout + run.stderr
    if run.returncode and not any(word in said for word in ("unproven", "model found: FAIL")):
        raise AssertionError(said[-2000:])
    return run.returncode == 0
