"""Page of the evidence: what was run last, as records in docs/figures state it."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .pages import DOCS

__all__ = ["SECTIONS", "evidence_page"]

_HEAD = """\
# Evidence

This page lists what was run to verify the hardware, how much of it, and what it does not show. It
is for readers who decide how far to trust the Verilog. Each section is generated from
a record in `docs/figures`. The command named in the section writes the record.
[Verification](verification.md) explains the methods, names the tests of each rule, and has the
[volume of simulations](verification.md#volume).
"""


def _proofs(found: dict[str, Any]) -> Iterator[str]:
    """Yield the section on proven properties."""
    tools = ", ".join(f"{name} {version}" for name, version in found["tools"].items())
    properties = found["properties"]
    yield "## Proofs"
    yield ""
    yield (
        f"`make formal` proved {_sum('holds', properties)} of {len(properties)} properties in "
        f"{_sum('seconds', properties) / 60:.0f} minutes with {tools}. "
        "[Proofs](proofs.md) says what each one shows."
    )
    yield ""
    yield "| method | properties | depth [cycles] | refuted mutants | does not show |"
    yield "| --- | --: | --- | --: | --- |"
    sizes = "other sizes of the unit; timing after synthesis"
    for method, omits in (
        ("induction", f"{sizes}; liveness (every packet arrives), unless stated"),
        ("bounded", f"{sizes}; violations that need more cycles"),
    ):
        some = [one for one in properties if one["method"] == method]
        depths = sorted({one["cycles"] for one in some if one["cycles"]})
        depth = f"{depths[0]} to {depths[-1]}" if depths else "any"
        killed = sum(one["killed_after"] is not None for one in some)
        yield f"| {method} | {len(some)} | {depth} | {killed} | {omits} |"


def _mutants(found: dict[str, Any]) -> Iterator[str]:
    """Yield the section on mutants of netlists."""
    properties = found["properties"]
    drawn, killed, equivalent = (_sum(name, properties) for name in _OUTCOMES)
    survivors = [(one["name"], text) for one in properties for text in one["survivors"]]
    yield "## Mutants of netlists"
    yield ""
    yield (
        f"Yosys drew {drawn} mutants for {len(properties)} properties. ABC found a violation for "
        f"{killed} of them. {equivalent} others are proven equivalent to the unit. The score is "
        f"{_share(killed, drawn - equivalent)}: killed mutants among those that are not proven "
        "equivalent."
    )
    yield ""
    tools = ", ".join(f"{name} {version}" for name, version in found["tools"].items())
    yield (
        f"The run of {found['date']} took {found['seconds'] / 60:.0f} minutes with seed "
        f"{found['seed']} (fred-hw {found['version']}, {tools}). `make mutation` repeats it, and "
        "then changes the sources."
    )
    yield ""
    yield "| property | mutants | killed | equivalent | survived | score |"
    yield "| --- | --: | --: | --: | --: | --: |"
    for one in properties:
        drawn, killed, equivalent = (one[name] for name in _OUTCOMES)
        yield (
            f"| [{one['name']}](proofs.md#{one['name']}) | {drawn} | {killed} | {equivalent} "
            f"| {len(one['survivors'])} | {_share(killed, drawn - equivalent)} |"
        )
    yield ""
    yield (
        "The sample does not show that every change of a unit is noticed. Each property is judged "
        "alone: a mutant that survives one property may violate another property of its unit, or "
        "fail in simulation. Units without a property are not in the sample. For "
        "properties proven by induction, the search for a violation ends after 30 cycles."
    )
    if survivors:
        yield ""
        yield "Survivors:"
        yield ""
        yield from (f"* {name}: `{text}`" for name, text in survivors)


_OUTCOMES = ("drawn", "killed", "equivalent")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _attacks(entries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the section on random legal work."""
    kinds = Counter[str]()
    for one in entries:
        kinds.update(one["kinds"])
    designs = {design for one in entries for design in one["designs"]}
    failures = [failure for one in entries for failure in one["failures"]]
    cases = ", ".join(f"{count:,} of {kind}" for kind, count in sorted(kinds.items()))
    yield "## Attacks"
    yield ""
    yield (
        f"`make attack` drew random legal work for {_sum('minutes', entries):.0f} minutes in "
        f"{len(entries)} run{'s' * (len(entries) != 1)}: {len(designs)} designs and "
        f"{kinds.total():,} cases. {len(failures)} cases failed."
    )
    yield ""
    yield f"Cases of each kind: {cases}."
    yield ""
    yield "| date | version | seed | minutes | flits | faults | resets | writes | failures |"
    yield "| --- | --- | --: | --: | --: | --: | --: | --: | --: |"
    counts = ("flits", "faults", "resets", "writes")
    for one in entries:
        numbers = " | ".join(f"{one[name]:,}" for name in counts)
        yield (
            f"| {one['date']} | {one['version']} | {one['seed']} | {one['minutes']:.0f} "
            f"| {numbers} | {len(one['failures'])} |"
        )
    totals = " | ".join(f"{_sum(name, entries):,}" for name in counts)
    yield f"| all | | | {_sum('minutes', entries):.0f} | {totals} | {len(failures)} |"
    yield ""
    yield (
        "Other seeds and larger designs were not run. Work that breaks a rule "
        "of the protocol is not drawn."
    )
    if failures:
        yield ""
        yield from (f"* failed: {failure}" for failure in failures)


def _sum(name: str, of: list[dict[str, Any]]) -> Any:
    return sum(one[name] or 0 for one in of)


SECTIONS: dict[str, Callable[[Any], Iterator[str]]] = {
    "proofs.json": _proofs,
    "netlist-mutants.json": _mutants,
    "attacks.json": _attacks,
}
"""What makes the section of each record in docs/figures."""


def evidence_page(folder: Path = DOCS / "figures") -> str:
    """Return the page; a record that does not exist has no section."""
    lines = [_HEAD]
    for name, section in SECTIONS.items():
        if (folder / name).exists():
            lines += [*section(json.loads((folder / name).read_text(encoding="utf-8"))), ""]
    return "\n".join(lines)
