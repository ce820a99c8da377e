"""How far each reading of compute goes: speed-ups, sweeps and statements, beside its choices.

Prints the tables of docs/fidelity.md on models of compute: `make fidelity`.
"""

import sys
from collections.abc import Sequence

from perfmodel.studies.reproduce import count, reproduce
from perfmodel.studies.section import ReproduceRow, Setting
from perfmodel.workloads.workload import PUBLISHED

READINGS = {
    "first-principles": 0,
    "weights": 0,
    "peak:8": 1,
    "scaled:8": 1,
    "scaled:24": 1,
    "calibrated": 4,
}
"""Models of compute, and how many numbers of each were chosen by the speed-ups."""

SWEPT = ("transformer-17b/exposed", "transformer-17b/speedup")
SWEPT += ("transformer-1t/exposed", "transformer-1t/speedup")


def say(columns: Sequence[object]) -> None:
    """Print a row of a table in Markdown."""
    sys.stdout.write("| " + " | ".join(str(one) for one in columns) + " |\n")


def shown(row: ReproduceRow) -> str:
    """Return ours, and how far it is from the published figure."""
    if row.ratio is None:
        return str(row.model)
    return f"{float(row.model):.3g} ({100 * (row.ratio - 1):+.0f} %)"


def main() -> None:
    """Print a table of speed-ups and one of sweeps, with a row for each reading."""
    found = {
        name: {row.id: row for row in reproduce(["speedups", "sweeps"], Setting("ideal", name))}
        for name in READINGS
    }
    ids = [f"speedup/{name}/fred-{fabric}" for name in PUBLISHED for fabric in "cd"]
    published = next(iter(found.values()))
    say(("compute", "chosen", *(one.split("/", 1)[1] for one in ids), "within 5 %"))
    say(("---",) * (len(ids) + 3))
    say(("published", "", *(published[one].published for one in ids), ""))
    for name, chosen in READINGS.items():
        rows = [found[name][one] for one in ids]
        good = sum(row.ok for row in rows)
        say((f"`{name}`", chosen, *map(shown, rows), f"{good} of {len(rows)}"))
    sys.stdout.write("\n")
    swept = [f"sweep/{one}" for one in SWEPT]
    say(("compute", *SWEPT, "statements in words", "all predicted rows"))
    say(("---",) * (len(swept) + 3))
    say(("published", *(published[one].published for one in swept), "", ""))
    for name in READINGS:
        rows = found[name]
        words = [row for row in rows.values() if row.rule == "words"]
        counted = count(rows.values())["predicted"]
        say(
            (
                f"`{name}`",
                *(shown(rows[one]) for one in swept),
                f"{sum(row.ok for row in words)} of {len(words)}",
                f"{counted.ok} of {counted.rows}",
            )
        )


if __name__ == "__main__":
    main()
