"""Mutants of a unit's netlist, which Yosys draws; the properties of the unit must refute them."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .certificate import invariant_holds
from .engine import model_check
from .netlist import FormalError, convert, lower
from .property import Property

__all__ = ["Mutants", "main", "try_mutants"]

DEPTH_CYCLES = 30
"""Cycles in which a mutant is searched for a violation if its property is proven by induction."""

_DRAWN = (
    "hierarchy -top top",
    "proc",
    "flatten top.unit",
    "opt -purge",
    "setattr -unset init w:*",  # a mutant may make a constant of a register
)


@dataclass(frozen=True)
class Mutants:
    """What became of the mutants of a unit.

    Parameters
    ----------
    unit : str
        Name of the mutated module.
    properties : tuple of str
        Names of the properties that are proven of it.
    seed, drawn : int
        Seed of the sample, and mutants in it.
    killed : int
        Mutants that violate a property.
    equivalent : int
        Other mutants that are proven to have the outputs of the unit in all cycles.
    survivors : tuple of str
        All other mutants: mode, cell, port and bit.
    """

    unit: str
    properties: tuple[str, ...]
    seed: int
    drawn: int
    killed: int
    equivalent: int
    survivors: tuple[str, ...]


def try_mutants(
    properties: Sequence[Property], folder: Path, *, count: int, seed: int, seconds: int = 20
) -> Mutants:
    """Draw mutants of a unit, and search violations of its properties for each of them.

    All assumptions hold at once. A mutant without a violation is compared with the unit under these
    assumptions, with registers that begin with 0 and are reset in the first cycle. It is equivalent
    if ABC finds an invariant by which all outputs agree, and CaDiCaL confirms the invariant.

    Parameters
    ----------
    properties : sequence of Property
        Properties of one unit, at least one.
    folder : Path
        Folder of the files.
    count, seed : int
        Mutants to draw, 1 or more; seed of the sample.
    seconds : int
        Limit of each search [s].

    Raises
    ------
    FormalError
        A tool failed.
    """
    harness = properties[0].harness()
    for other in properties[1:]:
        other.conditions(harness, harness.ports)
    lower({"proof": (harness, None)}, folder)
    _yosys(folder, "draw", str(count), str(seed))
    names = (folder / "mutants.txt").read_text(encoding="utf-8").splitlines()
    files = [folder / f"mutant_{k}.il" for k in range(len(names))]
    convert(files, folder / "yosys-mutants.log")
    bounds = [one.bound.cycles + 1 if one.bound else DEPTH_CYCLES for one in properties]
    left = [
        (file, name)
        for file, name in zip(files, names, strict=True)
        if model_check(file.with_suffix(".aig"), cycles=max(bounds), seconds=seconds).holds
        is not False
    ]
    miters = [file.with_name(f"miter_{file.name}") for file, _ in left]
    _yosys(folder, "compare", *(file.stem for file, _ in left))
    graphs = convert(miters, folder / "yosys-miters.log", zeroed=True)
    survivors = []
    for file, (_, name) in zip(miters, left, strict=True):
        found = model_check(file.with_suffix(".aig"), cycles=None, seconds=seconds)
        if not (found.holds and invariant_holds(graphs[file.stem], found.excluded)):
            survivors.append(f"{name}{' (undecided)' if found.holds is None else ''}")
    return Mutants(
        harness.unit.unit_name,
        tuple(one.name for one in properties),
        seed,
        len(names),
        len(names) - len(left),
        len(left) - len(survivors),
        tuple(survivors),
    )


def _yosys(folder: Path, *arguments: str) -> None:
    """Run this module in a process of its own."""
    command = [sys.executable, "-m", "testbench.formal.mutants", str(folder), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        said = (run.stdout + run.stderr).strip().splitlines() or [f"status {run.returncode}"]
        raise FormalError(f"{folder}: {said[-1]}")


def main() -> None:
    """Draw mutants, or write the comparison of each given mutant with the unit."""
    from pyosys import libyosys as yosys  # pyright: ignore[reportAttributeAccessIssue]

    folder, action, *given = sys.argv[1:]

    def run(*commands: str) -> None:
        design = yosys.Design()
        for command in commands:
            yosys.run_pass(command, design)

    base = f"{folder}/base.il"
    if action == "compare":
        for name in given:
            halves = [
                f"read_rtlil {folder}/{source}.il; flatten; chformal -assert -remove; "
                f"rename top {half}; design -stash {half}"
                for source, half in (("base", "gold"), (name, "gate"))
            ]
            run(
                *(step for half in halves for step in half.split("; ")),
                "design -copy-from gold -as gold gold",
                "design -copy-from gate -as gate gate",
                "miter -equiv -flatten -make_assert gold gate top",
                f"write_rtlil {folder}/miter_{name}.il",
            )
        return
    count, seed = given
    run(
        f"read_rtlil {folder}/proof.il",
        *_DRAWN,
        f"write_rtlil {base}",
        f"mutate -list {count} -seed {seed} -o {folder}/mutate.ys top.unit",
    )
    steps = Path(f"{folder}/mutate.ys").read_text(encoding="utf-8").splitlines()
    for number, step in enumerate(steps):
        run(f"read_rtlil {base}", step, f"write_rtlil {folder}/mutant_{number}.il")
    names = [step.removeprefix("mutate ").strip() for step in steps]
    Path(f"{folder}/mutants.txt").write_text("\n".join(names) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
