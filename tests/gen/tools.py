"""Tools that read Verilog, as tests ask them."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from gen.design import Design
from gen.write import write_files
from testbench.sim.tools import icarus_bin, verilator_bin

__all__ = ["check_icarus", "check_lint", "debian_verilator", "icarus", "lint", "with_ports_alone"]

_DEBIAN = Path(__file__).parents[2] / ".venv" / "debian" / "bin" / "verilator"


@cache
def debian_verilator() -> Path | None:
    """Return the Verilator 5.006 that `scripts/debian-verilator.sh` unpacked, or one on PATH."""
    found = shutil.which("verilator")
    for program in (_DEBIAN if os.access(_DEBIAN, os.X_OK) else None, found and Path(found)):
        if program and "Verilator 5.006 " in _said(program, "--version"):
            return program
    return None


def _said(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False).stdout


def _run(tool: Path, arguments: tuple[str, ...], folder: Path) -> tuple[int, str]:
    said = subprocess.run(
        [tool, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return said.returncode, said.stderr


def lint(folder: Path, top: str, *files: str, program: Path | None = None) -> tuple[int, str]:
    """Return the status of a Verilator, that of the benches, and all that it finds in files."""
    if program is None:
        place = verilator_bin()
        assert place is not None
        program = place / "verilator"
    options = ("--lint-only", "-Wall", "--top-module", top)
    return _run(program, (*options, *files), folder)


def icarus(folder: Path, *arguments: str) -> tuple[int, str]:
    """Return the status of Icarus, which reads files of a folder, and what it says."""
    place = icarus_bin()
    assert place is not None
    return _run(place / "iverilog", ("-t", "null", *arguments), folder)


def check_lint(design: Design, folder: Path) -> None:
    """Check that Verilator finds nothing beyond the waivers of a design."""
    write_files(design.files(), folder)
    assert lint(folder, design.name, f"{design.name}.vlt", f"{design.name}.v") == (0, "")


def check_icarus(design: Design, folder: Path) -> None:
    """Check that Icarus accepts a design as Verilog 2005."""
    write_files(design.files(), folder)
    status, said = icarus(folder, "-g2005", "-Wall", f"{design.name}.v")
    assert status == 0, said


def with_ports_alone(verilog: str, top: str) -> tuple[str, str]:
    """Return the top module of a design, and all others without what is inside them."""
    modules = {
        m[1]: m[0] for m in re.finditer(r"^module (\w+).*?^endmodule$", verilog, re.M | re.S)
    }
    port = re.compile(r"^module [^;]*;|^  (?:input|output) .*|^endmodule", re.M)
    others = (port.findall(text) for name, text in modules.items() if name != top)
    return modules[top] + "\n", "".join(f"{line}\n" for one in others for line in one)
