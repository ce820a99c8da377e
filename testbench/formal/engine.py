"""Model checking of a graph by ABC, which the package of Yosys contains."""

import re
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from .netlist import FormalError

__all__ = ["Outcome", "abc_program", "model_check"]

_REACHED = re.compile(r"Output \d+ .* was asserted in frame \d+")
_CLEAR = re.compile(r"No output asserted in (\d+) frames")
_CUBE = re.compile(r"^([01-]+) 1$", re.MULTILINE)
_NAMES = re.compile(r"^\.ilb (.*)$", re.MULTILINE)

Cube = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Outcome:
    """Result of model checking.

    Parameters
    ----------
    holds : bool or None
        Whether no bad state is reachable; None if that is unknown.
    stimuli : tuple of tuple of int
        Bits of all inputs in each cycle until a bad state is reached, if one is.
    excluded : tuple of cubes
        The invariant of an unbounded proof, as sets of states that it excludes. A cube lists
        registers with their values. The number behind the last register stands for a register that
        is 1 after a violated constraint.
    """

    holds: bool | None
    stimuli: tuple[tuple[int, ...], ...] = ()
    excluded: tuple[Cube, ...] = ()


def abc_program() -> Path:
    """Return the path of ABC.

    Raises
    ------
    FormalError
        pyosys is not installed.
    """
    found = find_spec("pyosys")
    for root in (found.submodule_search_locations or []) if found else []:
        return Path(root) / "yosys-abc"
    raise FormalError("pyosys: must be installed, not missing; pip install 'fred-hw[synth]'")


def model_check(file: Path, *, cycles: int | None, seconds: int) -> Outcome:
    """Search the reachable states of a graph for bad ones.

    Parameters
    ----------
    file : Path
        Graph as an AIGER file without outputs; files of the search are beside it.
    cycles : int or None
        Cycles to search. Without a number the search is for an invariant.
    seconds : int
        Time after which the result is unknown.

    Raises
    ------
    FormalError
        ABC failed.
    """
    invariant, witness = file.with_suffix(".inv"), file.with_suffix(".aiw")
    for old in (invariant, witness):
        old.unlink(missing_ok=True)
    # `fold -s` keeps registers that no bad state depends on, and so their numbers.
    search = f"pdr -T {seconds} -d -I {invariant.name}"
    if cycles is not None:
        search = f"bmc3 -F {cycles} -T {seconds}"
    commands = (
        f"read_aiger {file.name}; fold -s; strash; orpos; {search}; write_cex -a {witness.name}"
    )
    run = subprocess.run(
        [str(abc_program()), "-c", commands],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    said = run.stdout + run.stderr
    file.with_suffix(".log").write_text(said, encoding="utf-8")
    if run.returncode:
        raise FormalError(f"{file.with_suffix('.log')}: {said.strip().splitlines()[-1]}")
    if _REACHED.search(said):
        # The first line has the initial values of all registers, which are 0.
        lines = witness.read_text(encoding="utf-8").splitlines()[1:]
        bits = [line for line in lines if line and set(line) <= {"0", "1", "x"}]
        return Outcome(False, tuple(tuple(int(bit == "1") for bit in line) for line in bits))
    if cycles is not None:
        clear = _CLEAR.search(said)
        return Outcome(True if clear and int(clear[1]) >= cycles else None)
    if "Property proved." in said:
        return Outcome(True, (), _cubes(invariant))
    return Outcome(None)


def _cubes(file: Path) -> tuple[Cube, ...]:
    """Read an invariant that ABC wrote; there is none if the outputs are constant."""
    if not file.exists():
        return ()
    text = file.read_text(encoding="utf-8")
    names = _NAMES.search(text)
    registers = [int(name.removeprefix("lo")) for name in names[1].split()] if names else []
    return tuple(
        tuple((one, int(bit)) for one, bit in zip(registers, row, strict=True) if bit != "-")
        for row in _CUBE.findall(text)
    )
