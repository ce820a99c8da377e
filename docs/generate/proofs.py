"""Page of the proofs: what `fred formal` printed last."""

import json
from collections.abc import Iterator
from typing import Any

from testbench.evidence.summary import PROOFS, RECORDS
from testbench.formal.verdict import Verdict

__all__ = ["RESULTS", "plain", "proofs_page"]

RESULTS = RECORDS / PROOFS
"""The results, as `fred formal --output` wrote them."""

_HEAD = """\
# Proofs

This page lists the proven properties of the hardware. For each property it states the depth of the
proof, and what the proof does not show. It is for readers who decide how far to trust the Verilog.
`make formal` proves all properties again. `make test` proves those that
`fred formal --fast` selects.

## How to read the table

* **induction**: the property holds for any number of cycles. ABC finds an invariant by
  property-directed reachability (PDR). CaDiCaL then confirms that the invariant contains
  every initial state, is kept by each step and excludes every violation.
* **bounded**: the property holds in the given number of cycles from reset on. The item "depth" of
  the property says what happens in these cycles.
* Inputs are arbitrary in each cycle, within the assumptions of the property. Registers and
  memories begin with any value, and a reset may come in any cycle.
* **mutant**: a broken unit, for which the same property must be refuted. The number is the length
  of the shortest refutation in cycles.
* **covers**: situations that must be reachable, each with the cycles until it is reached. Covers
  show that a property does not hold merely because its assumptions exclude everything.

A proof covers the netlist that Amaranth and Yosys make of a unit with one choice of sizes. It does
not cover other sizes or timing after synthesis. `make test` compares the netlists with the proven
ones by SHA-256. Simulations of larger sizes are listed
in [Verification](verification.md).
"""


def proofs_page() -> str:
    """Return the page."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    return "\n".join([_HEAD, *_summary(found), "", *_properties(found["properties"])])


def _summary(found: dict[str, Any]) -> Iterator[str]:
    tools = ", ".join(f"{name} {version}" for name, version in found["tools"].items())
    seconds = sum(one["seconds"] for one in found["properties"])
    yield "## Results"
    yield ""
    count = len(found["properties"])
    yield f"{count} properties were proven in {seconds / 60:.0f} minutes with {tools}."
    yield "Times with two decimals in the record are CPU time, the others are elapsed time."
    yield ""
    yield "| property | unit | method | mutant refuted in | time [s] |"
    yield "| --- | --- | --- | --: | --: |"
    for one in found["properties"]:
        killed = one["killed_after"]
        yield (
            f"| [{one['name']}](#{one['name']}) | {plain(one['unit'])} | {Verdict(**one).depth} "
            f"| {killed} | {one['seconds']:.1f} |"
        )


def plain(name: str) -> str:
    """Return a name as plain text of Markdown."""
    return name.replace("_", r"\_")


def _properties(properties: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what each property shows and omits."""
    for one in properties:
        covers = ", ".join(f"{name} in {cycles}" for name, cycles in one["covers"].items())
        yield f"## {one['name']}"
        yield ""
        yield one["shows"]
        yield ""
        if one["why"]:
            yield f"* depth: {one['why']}"
        yield f"* mutant: {one['mutant']}"
        yield f"* covers: {covers}"
        yield f"* does not show: {one['omits']}"
        yield ""
