"""Page of the attacks: the entries that `make attack` has recorded, and their totals."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbench.evidence.summary import ATTACKS, ATTACKS_OMIT, RECORDS, attack_totals

__all__ = ["attacks_page"]

_HEAD = """\
# Attacks

This page lists the constrained-random stress tests (attacks) of the hardware. It is for readers who
decide how far to trust the Verilog. `make attack` runs new tests and adds an entry.

* Each case is random, legal work on a fabric. Its results are compared with the golden model, and
  the case must end within a bound.
* A case that fails is reduced: fewer operations, no faults, a simpler design.
  `make attack CASE=FILE` repeats the reduced case.

| kind | work |
| --- | --- |
| wafer, row, mesh, adaptive | descriptors on a wafer of nine NPUs, or a mesh of six |
| trees | schedule tables, before or after other descriptors |
| random wafer, random mesh | descriptors on wafers, meshes and tori of random sizes |
| loads | phases rewritten until generations wrap |
| restarts | all endpoints and some switches are reset in the middle of descriptors |
| writes | random register writes to a switch; one phase may be corrupted, no other |
| changing | phases rewritten under load on one switch or two levels |

The entries do not show:
"""


def attacks_page(record: Path = RECORDS / ATTACKS) -> str:
    """Return the page of a record."""
    entries = json.loads(record.read_text(encoding="utf-8"))
    omits = (f"* {one}" for one in ATTACKS_OMIT)
    return "\n".join([_HEAD, *omits, "", *_totals(entries), *_entries(entries), ""])


def _totals(entries: list[dict[str, Any]]) -> Iterator[str]:
    totals = attack_totals(entries)
    yield "## Total"
    yield ""
    yield f"| {' | '.join(totals).replace('writes', 'register writes')} |"
    yield "|" + " --: |" * len(totals)
    yield f"| {' | '.join(f'{number:,}' for number in totals.values())} |"
    yield ""


def _entries(entries: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Runs"
    yield ""
    yield "Flits are those that were compared with the golden model. Sources are a digest of the"
    yield "code that generates the hardware. Minutes include builds."
    yield ""
    names = ("date", "version", "sources", "seed", "minutes", "cases", "flits", "faults", "resets")
    yield f"| {' | '.join(names)} | failures |"
    yield "| --- | --- | --- | --: | --: | --- | --: | --: | --: | --- |"
    for one in entries:
        cases = ", ".join(f"{name} {count}" for name, count in one["kinds"].items())
        failures = "; ".join(one["failures"]) or "none"
        yield (
            f"| {one['date']} | {one['version']} | {one['sources'] or 'unknown'} | {one['seed']} "
            f"| {one['minutes']} | {cases} | {one['flits']:,} | {one['faults']:,} "
            f"| {one['resets']:,} | {failures} |"
        )
