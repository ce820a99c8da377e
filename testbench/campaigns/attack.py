"""Attack the hardware with random legal work for some minutes, and record what was run.

Each seed draws a case of every kind; results are compared with the golden model, and each run must
end within a bound. A case that fails is reduced, and written to a file that repeats it.

    python -m testbench.campaigns.attack --minutes 30 --seed 1
    python -m testbench.campaigns.attack --case build/attack/wafer-17.json
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError
from fred_hw.reading import read_text
from testbench.evidence.record_file import record_file
from testbench.evidence.summary import attack_totals
from testbench.sim.kept import generator_digest
from testbench.sim.tools import SimulatorError

from .case import Case, Kind, shrunk
from .kinds import KINDS

__all__ = ["Tally", "attack", "check_case", "failure_of", "main"]

_FAILURES = Path("build/attack")

_CASE_BYTES = 1_000_000
"""Largest size of the file of a case."""
_RECORD_BYTES = 10_000_000
"""Largest size of a record."""


class Tally:
    """Counts of a run.

    Parameters
    ----------
    seed : int
        First seed.
    """

    def __init__(self, seed: int) -> None:
        self.begun = time.monotonic()
        self.seed = seed
        self.kinds: dict[str, int] = {}
        self.designs: set[str] = set()
        self.counts = dict.fromkeys(("flits", "faults", "resets", "writes"), 0)
        self.failures: list[str] = []

    def add(self, case: Case) -> str:
        """Run a case and count it; return what is wrong, or an empty text."""
        kind = KINDS[case.kind]
        found = kind.run(case.values)
        self.kinds[case.kind] = self.kinds.get(case.kind, 0) + 1
        self.designs.add(kind.design(case.values))
        for name in self.counts:
            self.counts[name] += getattr(found, name)
        return found.what

    def entry(self) -> dict[str, Any]:
        """Return the entry for the record."""
        return {
            "date": datetime.now(UTC).date().isoformat(),
            "version": version("fred-hw"),
            "sources": generator_digest(),
            "seed": self.seed,
            "minutes": round((time.monotonic() - self.begun) / 60, 1),
            "kinds": self.kinds,
            "designs": sorted(self.designs),
            **self.counts,
            "failures": self.failures,
        }


def check_case(case: Case, tries: int, what: str = "") -> tuple[Case, str]:
    """Return the simplest case found that still fails, and what is wrong; empty if nothing is.

    Parameters
    ----------
    case : Case
        The case to check.
    tries : int
        Runs to reduce a failure.
    what : str, optional
        What is wrong with the case, if it has been run.
    """
    kind = KINDS[case.kind]

    def fails(values: Any) -> bool:
        return bool(kind.run(values).what)

    if not (what := what or kind.run(case.values).what):
        return case, ""
    small = replace(case, values=shrunk(case.values, kind.simpler, fails, tries))
    return small, (kind.run(small.values).what if small != case else "") or what


def failure_of(name: str, seed: int, tries: int = 0) -> str:
    """Return what is wrong with a case, and how to repeat it; empty if nothing is."""
    case, what = check_case(Case(name, KINDS[name].draw(seed)), tries)
    return f"{what}\n{KINDS[name].text(case.values)}\n{case.json()}" if what else ""


def attack(
    seed: int, minutes: float, kinds: Sequence[str], tries: int, say: Callable[[str], None]
) -> Tally:
    """Run cases of the kinds, seed after seed, until the time is over."""
    tally, end = Tally(seed), time.monotonic() + 60 * minutes
    while True:
        for name in kinds:
            if time.monotonic() > end:
                return tally
            case = Case(name, KINDS[name].draw(seed))
            if what := tally.add(case):
                small, what = check_case(case, tries, what)
                _report(KINDS[name], small, f"{name}-{seed}", what, say)
                tally.failures.append(f"{name}, seed {seed}: {what.splitlines()[0][:200]}")
        seed += 1


def _report(kind: Kind, case: Case, name: str, what: str, say: Callable[[str], None]) -> None:
    """Write a case to a file, and print how to repeat it."""
    _FAILURES.mkdir(parents=True, exist_ok=True)
    path = _FAILURES / f"{name.replace(' ', '-')}.json"
    path.write_text(case.json(), encoding="utf-8")
    say(f"FAILS: {what}\n{kind.text(case.values)}\nrepeat: make attack CASE={path}")


def _seed(text: str) -> int:
    """Return a seed, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of 1 or more, not {text!r}")
    return int(text)


def _minutes(text: str) -> float:
    """Return a number of minutes, above 0 and at most a day."""
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes <= 1440:
        message = f"must be a number of minutes above 0, at most 1440, not {text!r}"
        raise argparse.ArgumentTypeError(message)
    return minutes


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _repeat(path: Path) -> int:
    """Repeat the case of a file; return 1 if it fails.

    Raises
    ------
    InputError
        The file is unreadable, or no case.
    """
    try:
        case = Case.parse(read_text(path, _CASE_BYTES))
        kind = KINDS[case.kind]
        text = kind.text(case.values)
    except (KeyError, TypeError, ValueError):
        message = "must be a case that make attack wrote, not another text"
        raise InputError(str(path), "", message) from None
    what = kind.run(case.values).what
    _say(f"{what or 'passes'}\n{text}")
    return int(bool(what))


def _entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a record, which is empty if there is no file.

    Raises
    ------
    InputError
        The file is unreadable, or no record.
    """
    if not path.exists():
        return []
    try:
        found = [*json.loads(read_text(path, _RECORD_BYTES))]
        attack_totals(found)
    except (AttributeError, KeyError, TypeError, ValueError):
        message = "must be a record that make attack wrote, not another text"
        raise InputError(str(path), "", message) from None
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack, or repeat a case; return 1 if anything failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=_seed, default=1, help="first seed, 1 or more")
    parser.add_argument(
        "--minutes", type=_minutes, default=30, help="time after which no case begins"
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS], metavar="KIND")
    parser.add_argument("--tries", type=int, default=60, help="runs to reduce a failure")
    parser.add_argument("--case", type=Path, help="only repeat the case of this file")
    parser.add_argument("--record", type=record_file, help="append an entry to this file")
    given = parser.parse_args(arguments)
    if given.case:
        try:
            return _repeat(given.case)
        except InputError as error:
            parser.exit(2, f"error: {error}\n")
        except SimulatorError as error:
            parser.exit(1, f"error: {error}\n")
    try:
        before = _entries(given.record) if given.record else []
    except InputError as error:
        parser.exit(2, f"error: {error}\n")
    try:
        entry = attack(given.seed, given.minutes, given.kinds, given.tries, _say).entry()
    except SimulatorError as error:
        parser.exit(1, f"error: {error}\n")
    _say(json.dumps(entry, indent=1))
    if given.record and not entry["sources"]:
        _say(f"not recorded in {given.record}: sources changed during the run")
    elif given.record:
        given.record.write_text(json.dumps([*before, entry], indent=1) + "\n", encoding="utf-8")
    return int(bool(entry["failures"]))


if __name__ == "__main__":
    sys.exit(main())
