"""Page of the evidence: what was run last, as records in docs/figures state it."""

import json
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
        yield "Survivors, each as the options of Yosys' `mutate`:"
        yield ""
        yield from (f"* {name}: `{text}`" for name, text in survivors)


_OUTCOMES = ("drawn", "killed", "equivalent")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _attacks(entries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the section on constrained-random tests."""
    cases = sum(sum(one["kinds"].values()) for one in entries)
    failures = sum(len(one["failures"]) for one in entries)
    yield "## Attacks"
    yield ""
    yield (
        f"`make attack` tried {cases:,} random legal cases in {_sum('minutes', entries):.0f} "
        f"minutes. Cases that failed: {failures}. [Attacks](attacks.md) lists the runs, and what "
        "they do not show."
    )


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
