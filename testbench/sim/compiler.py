"""The C++ compiler, and libraries called from Python."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .cache import built
from .tools import COMPILERS, SimulatorError

__all__ = ["STANDARD", "find_compiler", "run_tool", "said", "shared_library"]

STANDARD = "-std=gnu++20"


def find_compiler(user: str) -> str:
    """Return the C++ compiler: ``CXX``, or the first installed one of ``COMPILERS``.

    Raises
    ------
    SimulatorError
        The compiler is not installed; ``user`` names the part that needs it.
    """
    compiler = os.environ.get("CXX") or next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise SimulatorError(f"{user} needs clang++ or g++, which are not installed")
    return compiler


def shared_library(name: str, sources: Mapping[str, str]) -> Path:
    """Return a shared library built from C++ sources, from the cache if present.

    Parameters
    ----------
    name : str
        Name of the library.
    sources : mapping of str to str
        Files by name, including headers.

    Raises
    ------
    SimulatorError
        A compiler is not installed or could not build.
    """
    compiler = find_compiler(name)
    program = f"{name}.so"
    command = [compiler, STANDARD, "-O2", "-shared", "-fPIC", "-o", program]
    command += [file for file in sources if file.endswith(".cpp")]

    def build(work: Path) -> None:
        for file, text in sources.items():
            (work / file).write_text(text)
        run_tool(command, work)

    content = [*command, said(compiler, "--version"), *sources, *sources.values()]
    return built(name, content, build) / program


def said(*command: str) -> str:
    """Return the output of a command."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def run_tool(command: Sequence[str], work: Path) -> None:
    """Run a build command.

    Raises
    ------
    SimulatorError
        It failed.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=work)
    if done.returncode:
        text = (done.stderr or done.stdout)[-2000:]
        raise SimulatorError(f"{Path(command[0]).name} could not build the model: {text}")
