"""Measure coverage of the regression, and record it.

python -m testbench.coverage.measure --record testbench/evidence/records/coverage.json
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from testbench.evidence.record_file import record_file
from testbench.sim.cache import cpu_s
from testbench.sim.kept import generator_digest
from testbench.sim.tools import SimulatorError, verilator_version

from . import points as point_modules
from .counts import KINDS, POINT, Place, module_starts, read_counts
from .exclusions import EXCLUSIONS, Exclusion
from .regression import RUNS, Run

__all__ = ["Measured", "Subject", "entry", "load_points", "main", "measure", "summary"]

FOLDER = Path("build/coverage")
"""Where the runs leave logs, results and counts."""


@dataclass(frozen=True)
class Subject:
    """A module whose coverage is measured.

    Parameters
    ----------
    unit : str
        Name of the class that generates it.
    lines : tuple of str
        Its text.
    """

    unit: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """Coverage of a run.

    Parameters
    ----------
    name, design : str
        Names of the run and of its top module.
    tests : int
        Tests that passed.
    cpu_s : float
        Processor time of generation, build and simulation [s].
    subjects : mapping of str to Subject
        Modules by name.
    counts : Counter of Place
        How often each place was reached.
    """

    name: str
    design: str
    tests: int
    cpu_s: float
    subjects: Mapping[str, Subject]
    counts: Counter[Place]


def load_points() -> None:
    """Import all cover points, which registers them."""
    for module in iter_modules(point_modules.__path__):
        import_module(f"{point_modules.__name__}.{module.name}")


def measure(name: str, run: Run, seed: int, folder: Path) -> Measured:
    """Generate, simulate and count.

    Raises
    ------
    KeyError
        A cover point uses a name that its module does not have.
    SimulatorError
        A simulator is not installed or failed, or a test did.
    """
    begun = cpu_s()
    tests, files = run.simulate(seed, folder)
    verilog = run.design.verilog
    starts = module_starts(verilog)
    first, *others = files
    counts = read_counts(first, starts)
    for file in others:
        counts.update(read_counts(file, starts, only_reached=True))
    subjects = {
        module: Subject(type(run.units[module]).__name__, tuple(_text(verilog, start)))
        for module, start in starts.items()
        if module in run.units and type(run.units[module]).__module__.startswith("fred_hw.")
    }
    return Measured(name, run.design.name, tests, cpu_s() - begun, subjects, counts)


def _text(verilog: str, start: int) -> Iterable[str]:
    lines = verilog.splitlines()
    for line in lines[start - 1 :]:
        yield line.strip()
        if line == "endmodule":
            return


def summary(found: Sequence[Measured], exclusions: Sequence[Exclusion]) -> dict[str, Any]:
    """Return coverage of each unit and of each cover point, as JSON values.

    A place that several runs have is reached if one of them reaches it.
    """
    counts: Counter[Place] = Counter()
    subjects: dict[str, Subject] = {}
    for one in found:
        counts.update(one.counts)
        subjects.update(one.subjects)
    units: dict[str, dict[str, list[int]]] = {}
    used = Counter[Exclusion]()
    points: dict[str, int] = {}
    holes: list[str] = []
    for place, count in sorted(counts.items()):
        module = place.module.removesuffix("_points") if place.kind == POINT else place.module
        if module not in subjects:
            continue  # a top module of a bench
        unit = subjects[module].unit
        if place.kind == POINT:
            name = f"{unit}.{place.name}"
            points[name] = points.get(name, 0) + count
            continue
        row = units.setdefault(unit, {kind: [0, 0, 0] for kind in KINDS})[place.kind]
        line = subjects[module].lines[place.line - 1]
        text = place.name if place.kind == "toggle" else f"{line} -> {place.name.split()[1]}"
        why = None if count else _excluded(exclusions, unit, place.kind, text)
        if why:
            used[why] += 1
            row[2] += 1
            continue
        row[0] += count > 0
        row[1] += 1
        if not count and place.kind != "toggle":
            holes.append(f"{unit}: {text}")
    return {
        "units": units,
        "points": {name: points[name] for name in sorted(points)},
        "exclusions": [
            {"unit": one.unit, "kinds": list(one.kinds), "places": used[one], "why": one.why}
            for one in exclusions
        ],
        "holes": holes,
    }


def _excluded(exclusions: Sequence[Exclusion], unit: str, kind: str, text: str) -> Exclusion | None:
    return next((e for e in exclusions if e.excludes(unit, kind, text)), None)


def entry(found: Sequence[Measured], seed: int) -> dict[str, Any]:
    """Return what the record holds of runs with a seed, as JSON values."""
    names = [one.name for one in found]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": version("fred-hw"),
        "sources": generator_digest(),
        "seed": seed,
        "tools": {
            "Verilator": verilator_version(),
            "cocotb": version("cocotb"),
            "Amaranth": version("amaranth"),
        },
        "runs": [
            {"name": one.name, "design": one.design, "tests": one.tests, "cpu_s": round(one.cpu_s)}
            for one in found
        ],
        "left_out": [name for name in RUNS if name not in names],
        **summary(found, EXCLUSIONS),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and record; return 1 if a design fails, which is left out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of all stimulus, 1 or more")
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=[*RUNS], metavar="RUN")
    parser.add_argument("--record", type=record_file, help="write the result to this file")
    given = parser.parse_args(arguments)
    load_points()
    found: list[Measured] = []
    for name in given.runs:
        try:
            one = measure(name, RUNS[name], given.seed, FOLDER / re.sub(r"\W", "-", name))
        except (KeyError, SimulatorError) as error:
            sys.stderr.write(f"error: {name}: {error.args[0]}\n")
            continue
        sys.stdout.write(f"{name}: {one.tests} tests, {one.cpu_s:.0f} s of CPU time\n")
        sys.stdout.flush()
        found.append(one)
    if not found:
        return 1
    result = entry(found, given.seed)
    _print(result)
    if given.record and not result["sources"]:
        sys.stdout.write(f"not recorded in {given.record}: sources changed during the run\n")
    elif given.record:
        given.record.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return int(len(found) < len(given.runs))


def _print(result: Mapping[str, Any]) -> None:
    """Print coverage of each kind, and what is not reached."""
    lines = [f"not reached: {hole}" for hole in result["holes"]]
    lines += [f"not reached: point {name}" for name, count in result["points"].items() if not count]
    for kind in KINDS:
        rows = [row[kind] for row in result["units"].values()]
        reached, places = (sum(row[k] for row in rows) for k in (0, 1))
        lines.append(f"{kind}: {reached:,} of {places:,}, {100 * reached / max(places, 1):.2f} %")
    reached = sum(count > 0 for count in result["points"].values())
    lines.append(f"cover points: {reached} of {len(result['points'])}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
