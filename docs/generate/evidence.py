"""Page of the evidence: what was run last, as records in docs/figures state it."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .pages import DOCS
from .proofs import plain

__all__ = ["SECTIONS", "evidence_page"]

_HEAD = """\
# Evidence

This page lists what was run to verify the hardware, how much of it, and what it does not show. It
is for readers who decide how far to trust the Verilog. Each section is generated from
a record in `docs/figures`. The section names the command that repeats the run.
[Verification](verification.md) explains the methods, names the tests of each rule, and has the
[volume of simulations](verification.md#volume).
"""


def _proofs(found: dict[str, Any]) -> Iterator[str]:
    """Yield the section on proven properties."""
    properties = found["properties"]
    yield "## Proofs"
    yield ""
    yield (
        f"`make formal` proved {_sum('holds', properties)} of {len(properties)} properties in "
        f"{_sum('seconds', properties) / 60:.0f} minutes with {_tools(found)}. "
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
    yield ""
    yield from _UNPROVEN


_UNPROVEN = (
    "Not proven:",
    "",
    (
        "* Progress of a flow after any loss, as one property. Models of source, acknowledger and "
        "destination together were tried in bounded searches of 40 to 104 cycles, which did not "
        "end in 4 minutes. Instead, each unit on the way of a repair has a property of its own, "
        "for the smallest legal sizes:"
    ),
    (
        "    1. A source without an ack retransmits: [source-retransmits-in-time]"
        "(proofs.md#source-retransmits-in-time), in 40 cycles."
    ),
    (
        "    2. The switch answers the repeated packet by an ack in time, and asks an output "
        "unless all have acknowledged everything: [repeats-are-answered-in-time]"
        "(proofs.md#repeats-are-answered-in-time)."
    ),
    (
        "    3. An asked destination sends its ack again: [receiver-window-wraps]"
        "(proofs.md#receiver-window-wraps)."
    ),
    (
        "    4. The switch keeps that ack, and forwards it if the smallest ack advances: "
        "[smallest-ack-is-kept](proofs.md#smallest-ack-is-kept), in 30 cycles, and "
        "[ack-is-kept-for-ever](proofs.md#ack-is-kept-for-ever)."
    ),
    (
        "    5. The window of the source advances: [sender-window-wraps]"
        "(proofs.md#sender-window-wraps)."
    ),
    (
        "* The composition of these steps is an argument, not a proof: if no message and no packet "
        "of a round is lost, the oldest packet is acknowledged or retransmitted. Not proven are "
        "the links in between, the input port that signals a repeated packet, messages that wait "
        "in a queue of the acknowledger, and that losses end. ABC did not "
        "find an invariant for acks of flows of any shape in 2 minutes."
    ),
    (
        "* The CRC in the proof of a link: ABC reached 7 frames in 5 minutes with the CRC of the "
        "framer. The proof lets the channel choose the CRC, so any flit may be found damaged."
    ),
    ("* A link beyond 14 cycles: ABC did not finish 16 cycles in 5 minutes."),
)


def _mutants(found: dict[str, Any]) -> Iterator[str]:
    """Yield the section on mutants of netlists."""
    units = found["units"]
    drawn, killed, equivalent = (_sum(name, units) for name in _OUTCOMES)
    survivors = [(one["unit"], text) for one in units for text in one["survivors"]]
    yield "## Mutants of netlists"
    yield ""
    yield (
        f"Yosys drew {drawn} mutants of {len(units)} units. ABC found a violation of a property "
        f"for {killed} of them. {equivalent} others are proven equivalent to the unit. The score "
        f"is {_share(killed, drawn - equivalent)}: killed mutants among those that are not proven "
        "equivalent."
    )
    yield ""
    yield f"{_run_of(found)} `make mutation` repeats it, and then tries mutants of the sources."
    yield ""
    yield "| unit | properties | mutants | killed | equivalent | survived | score |"
    yield "| --- | --- | --: | --: | --: | --: | --: |"
    for one in units:
        drawn, killed, equivalent = (one[name] for name in _OUTCOMES)
        properties = ", ".join(f"[{name}](proofs.md#{name})" for name in one["properties"])
        yield (
            f"| {plain(one['unit'])} | {properties} | {drawn} | {killed} | {equivalent} "
            f"| {len(one['survivors'])} | {_share(killed, drawn - equivalent)} |"
        )
    yield ""
    yield (
        "The sample does not show that every change of a unit is noticed. Units without a property "
        "in the regular tests are not in the sample. For properties proven by induction, the "
        "search for a violation ends after 30 cycles."
    )
    if survivors:
        yield ""
        yield "Survivors, each as the options of Yosys' `mutate`:"
        yield ""
        yield from (f"* {plain(name)}: `{text}`" for name, text in survivors)


def _sources(found: dict[str, Any]) -> Iterator[str]:
    """Yield the section on mutants of sources."""
    mutants = found["mutants"]
    outcomes = ("killed", "hung", "survived")
    counts = Counter((one["area"], one["outcome"]) for one in mutants)
    total = Counter(one["outcome"] for one in mutants)
    yield "## Mutants of sources"
    yield ""
    yield (
        f"cosmic-ray changed one operator, number or condition of the Python sources at a time, "
        f"{len(mutants)} times. {_TRIED[found['near']]} noticed "
        f"{_share(total['killed'] + total['hung'], len(mutants))} of the changes. "
        "A mutant is hung if a test did not end."
    )
    yield ""
    yield _run_of(found)
    yield ""
    yield "| area | mutants | killed | hung | survived | score |"
    yield "| --- | --: | --: | --: | --: | --: |"
    for area in dict.fromkeys(one["area"] for one in mutants):
        killed, hung, survived = (counts[area, outcome] for outcome in outcomes)
        whole = killed + hung + survived
        share = _share(killed + hung, whole)
        yield f"| {area} | {whole} | {killed} | {hung} | {survived} | {share} |"
    yield ""
    yield (
        "Equivalence is not proven for sources: a change of a diagnostic text, of a limit that is "
        "never reached or of a time to wait counts as survived. A survivor may fail in a slow test "
        "or in a test of another folder."
    )
    if total["survived"]:
        yield ""
        yield "Survivors, each as file, line and operator of cosmic-ray:"
        yield ""
    for one in mutants:
        if one["outcome"] == "survived":
            operator = one["operator"].rpartition("/")[2]
            yield f"* `{one['path']}`, line {one['line']}: `{operator}`"


_TRIED = {
    True: "The tests of the module and of its folder",
    False: "The tests of `make test-fast`",
}


def _run_of(found: dict[str, Any]) -> str:
    """Return a sentence on date, time, seed and tools of a run."""
    tools = ", ".join(f"{name} {version}" for name, version in found["tools"].items())
    return (
        f"The run of {found['date']} took {found['seconds'] / 60:.0f} minutes with seed "
        f"{found['seed']} (fred-hw {found['version']}, {tools})."
    )


_OUTCOMES = ("drawn", "killed", "equivalent")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _coverage(found: dict[str, Any]) -> Iterator[str]:
    """Yield the section on coverage."""
    units, points = found["units"], found["points"]
    yield "## Coverage"
    yield ""
    yield (
        "`make coverage` simulates small designs in Verilator, and counts the executed parts of "
        f"their generated Verilog. The run of {found['date']} took "
        f"{_sum('cpu_s', found['runs']) / 60:.0f} minutes of CPU time with seed {found['seed']} "
        f"({_tools(found)}; sources {found['sources']})."
    )
    yield ""
    yield "| what is counted | reached | of | share | excluded |"
    yield "| --- | --: | --: | --: | --: |"
    for kind, meaning in _COUNTED.items():
        rows = [row[kind] for row in units.values()]
        reached, places, excluded = (sum(row[k] for row in rows) for k in range(3))
        share = _share(reached, places)
        yield f"| {kind}: {meaning} | {reached:,} | {places:,} | {share} | {excluded:,} |"
    reached = sum(count > 0 for count in points.values())
    share = _share(reached, len(points))
    counts = f"{reached:,} | {len(points):,} | {share} | 0"
    yield f"| cover point: a condition on signals of a unit | {counts} |"
    yield ""
    yield (
        "Generated Verilog has one `always` block per register and an `assign` for each other net. "
        "Lines are therefore reached by any clock edge. Branches show which choices of a "
        "multiplexer were made; toggles show the bits of nets that changed, in both directions."
    )
    yield ""
    yield "| design | tests | CPU time [s] |"
    yield "| --- | --: | --: |"
    yield from (f"| {one['name']} | {one['tests']} | {one['cpu_s']} |" for one in found["runs"])
    yield ""
    if found["left_out"]:
        left = ", ".join(found["left_out"])
        yield f"Designs of the regression that this run did not simulate: {left}."
        yield ""
    yield from _points(points)
    yield "Coverage of each unit is the reached share of all places that are not excluded:"
    yield ""
    yield "| unit | line | branch | toggle |"
    yield "| --- | --: | --: | --: |"
    for unit, row in sorted(units.items()):
        shares = " | ".join(_share(*row[kind][:2]) for kind in _COUNTED)
        yield f"| {unit} | {shares} |"
    yield from _not_reached(found)
    yield ""
    yield (
        "Coverage does not show that results were right: benches and the golden model check that. "
        "It does not show units of other designs, other sizes, or combinations of events that are "
        "not cover points. Gates without a multiplexer have no branches."
    )


_COUNTED = {
    "line": "an `always` block",
    "branch": "a side of a conditional expression",
    "toggle": "a bit of a net that rises, or falls",
}


def _points(points: dict[str, int]) -> Iterator[str]:
    """Yield the cover points of each unit."""
    groups: dict[str, list[str]] = {}
    for name in points:
        unit, _, point = name.partition(".")
        groups.setdefault(unit, []).append(point)
    yield (
        "Cover points are conditions on named signals of a unit, declared in "
        "`testbench/coverage/points`:"
    )
    yield ""
    yield "| unit | reached | points |"
    yield "| --- | --: | --- |"
    for unit, own in groups.items():
        reached = sum(points[f"{unit}.{point}"] > 0 for point in own)
        shown = ", ".join(point.replace("_", " ") for point in own[:_SHOWN])
        more = f", and {len(own) - _SHOWN} more" if len(own) > _SHOWN else ""
        yield f"| {unit} | {reached} of {len(own)} | {shown}{more} |"
    yield ""


_SHOWN = 4
"""Cover points of a unit that the page names."""


def _not_reached(found: dict[str, Any]) -> Iterator[str]:
    """Yield exclusions, and for each unit what is neither reached nor excluded."""
    if found["exclusions"]:
        yield ""
        yield "Exclusions, of `testbench/coverage/exclusions.py`:"
        yield ""
        yield "| unit | kind | places | why nothing reaches them |"
        yield "| --- | --- | --: | --- |"
        for one in found["exclusions"]:
            yield f"| {one['unit']} | {', '.join(one['kinds'])} | {one['places']} | {one['why']} |"
    places = Counter(hole.partition(":")[0] for hole in found["holes"])
    points: dict[str, list[str]] = {}
    for name in (name for name, count in found["points"].items() if not count):
        unit, _, point = name.partition(".")
        points.setdefault(unit, []).append(point.replace("_", " "))
    if not places and not points:
        return
    yield ""
    yield (
        "The run reached none of these lines, branches and cover points, and none is excluded. "
        "`make coverage` prints the lines and branches one by one."
    )
    yield ""
    yield "| unit | lines and branches | cover points |"
    yield "| --- | --: | --- |"
    for unit in sorted({*places, *points}):
        yield f"| {unit} | {places[unit]} | {', '.join(points.get(unit, ['none']))} |"


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


def _tools(found: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in found["tools"].items())


def _sum(name: str, of: list[dict[str, Any]]) -> Any:
    return sum(one[name] or 0 for one in of)


SECTIONS: dict[str, Callable[[Any], Iterator[str]]] = {
    "proofs.json": _proofs,
    "netlist-mutants.json": _mutants,
    "coverage.json": _coverage,
    "source-mutants.json": _sources,
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
