"""How far each reading of compute goes: speed-ups, sweeps and statements, beside its choices.

Prints the tables of docs/explanation/fidelity.md on models of compute: `make fidelity`.
"""

import sys
from collections.abc import Sequence

from perfmodel.workloads.workload import PUBLISHED
from studies.reproduce import count, reproduce
from studies.section import ReproduceRow, Setting

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


def shown(*rows: ReproduceRow) -> str:
    """Return ours, and how far each is from the published figure."""
    ours = [row.model if row.ratio is None else f"{float(row.model):.2f}" for row in rows]
    off = [f"{100 * (row.ratio - 1):+z.0f}" for row in rows if row.ratio is not None]
    return f"{' / '.join(map(str, ours))} ({' / '.join(off)} %)"


def main() -> None:
    """Print a table of speed-ups and one of sweeps, with a row for each reading."""
    found = {
        name: {row.id: row for row in reproduce(["speedups", "sweeps"], Setting("ideal", name))}
        for name in READINGS
    }
    pairs = {name: [f"speedup/{name}/fred-{fabric}" for fabric in "cd"] for name in PUBLISHED}
    published = found["first-principles"]
    say(("compute", "chosen", *pairs, "within 5 %"))
    say(("---",) * (len(pairs) + 3))
    printed = [" / ".join(str(published[one].published) for one in ids) for ids in pairs.values()]
    say(("published, FRED-C / D", "", *printed, ""))
    for name, chosen in READINGS.items():
        rows = [[found[name][one] for one in ids] for ids in pairs.values()]
        good = sum(row.ok for both in rows for row in both)
        cells = [shown(*both) for both in rows]
        say((f"`{name}`", chosen, *cells, f"{good} of {2 * len(rows)}"))
    sys.stdout.write("\n")
    say(("compute", *SWEPT, "words", "all predicted rows"))
    say(("---",) * (len(SWEPT) + 3))
    swept = [f"sweep/{one}" for one in SWEPT]
    say(("published", *(published[one].published for one in swept), "", ""))
    for name, rows in found.items():
        words = [row for row in rows.values() if row.rule == "words"]
        counted = count(rows.values())["predicted"]
        cells = [shown(rows[one]) for one in swept]
        good = sum(row.ok for row in words)
        every = f"{counted.ok} of {counted.rows}"
        say((f"`{name}`", *cells, f"{good} of {len(words)}", every))


if __name__ == "__main__":
    main()
