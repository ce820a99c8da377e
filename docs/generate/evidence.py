"""Page of the evidence: what was run last, as the records of verification state it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from testbench.evidence.equivalent import outcome, reason
from testbench.evidence.summary import (
    ATTACKS,
    COVERAGE,
    COVERED,
    DEADLOCKS,
    NETLIST_MUTANTS,
    PROOFS,
    RECORDS,
    SOURCE_MUTANTS,
    Score,
    Summary,
    counted,
    netlist_scores,
    read,
    share,
    source_scores,
    summaries,
)

from .proofs import plain

__all__ = ["evidence_page"]

_HEAD = """\
# Evidence

This page lists what was run to verify the hardware, how much of it, and what it does not show. It
is for readers who decide how far to trust the Verilog. Each section is generated from
a record in `testbench/evidence/records`. The section names the command that repeats the run. The
report (`fred report`) shows summaries of the same records.
[Verification](verification.md) explains the methods, names the tests of each rule, and has the
[volume of simulations](verification.md#volume).
"""


def _proofs(_: Any, methods: Sequence[Summary]) -> Iterator[str]:
    """Yield the section on proven properties."""
    yield "## Proofs"
    yield ""
    yield (
        f"`{methods[0].command}` proves the properties again. [Proofs](proofs.md) says what each "
        "one shows."
    )
    yield ""
    yield "| method | result | run | does not show |"
    yield "| --- | --- | --- | --- |"
    for one in methods:
        method = one.name.partition(": ")[2]
        yield f"| {method} | {one.result} | {one.run} | {one.omits} |"
    yield ""
    yield from _UNPROVEN


_UNPROVEN = (
    "Not proven:",
    "",
    (
        "* Progress of a flow after any loss, as one property. Models of source, acknowledger and "
        "destination together were tried in bounded searches of 40 to 104 cycles, which did not "
        "end in 4 minutes. Instead, each unit that takes part in a repair has its own property, "
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
        "* The RTL is not proven to complete a flow by these steps together. [A model]"
        "(../../testbench/formal/repair.py) shows it for "
        "[small flows](../../tests/testbench/formal/test_repair.py). It has all sources, one "
        "switch and all destinations of a flow. The search visits all states that losses can "
        "reach. From each of them every run without further losses ends with all packets "
        "acknowledged. The search also finds the fault if the switch leaves out an answer. The "
        "answers of the switch are [compared with the RTL of the acknowledger]"
        "(../../tests/testbench/formal/test_repair_rtl.py). The model has no switches in a row, no "
        "queues of messages and no wrap of numbers. Not proven are the links in between, the input "
        "port that signals a repeated packet, and that losses end. ABC did not find an invariant "
        "for acks of flows of any shape in 2 minutes."
    ),
    (
        "* The CRC in the proof of a link: ABC reached 7 frames in 5 minutes with the CRC of the "
        "framer. The proof lets the channel choose the CRC, so any flit may be found damaged."
    ),
    ("* A link beyond 14 cycles: ABC did not finish 16 cycles in 5 minutes."),
)


def _deadlocks(found: dict[str, Any], said: Sequence[Summary]) -> Iterator[str]:
    """Yield the section on the search for deadlocks."""
    [summary] = said
    yield "## Search for deadlocks"
    yield ""
    yield summary.result
    yield ""
    yield f"{summary.run} `{summary.command}` repeats it."
    yield ""
    yield (
        "Two L1 switches have two endpoints each, and are joined by an L2 switch. Any endpoint may "
        "start late. A descriptor sends a message, receives one, does both, or takes part in a "
        "ring of three or four endpoints. A combination is legal if all descriptors end when each "
        "flow has links of its own, and a message moves only while the descriptors of both its "
        'ends are current. So two endpoints that both queue "send, then receive" for each other '
        f"are not legal. A message has {found['flits']} flits. Queues of links and receive queues "
        f"hold {found['queue']} flits. The window is the number of packets that a flow has in "
        "flight at most. Two combinations are of one class if exchanging the endpoints of an L1 "
        "switch, or the L1 switches, makes them equal. One combination of each class is searched. "
        "A step is done at once if it stays possible until it is done, prevents no other step, and "
        "changes what none of them does. So states between such steps are not visited."
    )
    yield ""
    yield "| descriptors | rule | window | combinations | classes | states | most states | stuck |"
    yield "| --- | --- | --: | --: | --: | --: | --: | --: |"
    for row in found["rows"]:
        counts = (row[name] for name in ("queues", "classes", "states", "most states", "stuck"))
        cells = " | ".join(f"{count:,}" for count in counts)
        yield f"| {_DESCRIPTORS[row['kind']]} | {row['rule']} | {row['window']} | {cells} |"
    yield ""
    yield (
        "A combination is stuck if a state can be reached from which its descriptors can no longer "
        "all end. Rule `bounded` is that of the hardware: if the receive queue is full of flits "
        "that wait for a send, the endpoint drops the next flit, and its source sends it again. "
        "Under `endless` that flit blocks the link until there is space. The search then finds "
        "deadlocks, so it is able to find them. Both rules reach the same states, as a dropped "
        "flit returns to a state before it was sent. They differ in the steps between states."
    )
    yield ""
    yield summary.omits
    yield ("[Deadlock freedom](deadlock-freedom.md) has the argument for fabrics of any size.")


_DESCRIPTORS = {"messages": "messages only", "rings": "at least one ring"}


def _mutants(found: dict[str, Any], said: Sequence[Summary]) -> Iterator[str]:
    """Yield the section on mutants of netlists."""
    [summary] = said
    units = found["units"]
    yield "## Mutants of netlists"
    yield ""
    yield summary.result
    yield ""
    yield f"{summary.run} `{summary.command}` repeats it."
    yield ""
    yield "| unit | properties | mutants | killed | equivalent | survived | score |"
    yield "| --- | --- | --: | --: | --: | --: | --: |"
    for one, score in zip(units, netlist_scores(found), strict=True):
        properties = ", ".join(f"[{name}](proofs.md#{name})" for name in one["properties"])
        yield f"| {plain(score.name)} | {properties} | {_cells(score)} |"
    yield ""
    yield summary.omits
    yield from _listed(
        "Survivors, each as the options of Yosys' `mutate`:",
        [f"{plain(one['unit'])}: `{text}`" for one in units for text in one["survivors"]],
    )


def _sources(found: dict[str, Any], said: Sequence[Summary]) -> Iterator[str]:
    """Yield the section on mutants of sources."""
    [summary] = said
    yield "## Mutants of sources"
    yield ""
    yield f"{summary.result} A mutant that makes a test run into its time limit is killed, too."
    yield ""
    yield f"{summary.run} `{summary.command}` repeats it."
    yield ""
    yield (
        "`make test` tries up to eight mutants of one fixed module of each area, and [fails]"
        "(../../tests/mutation/test_sources.py) if one survives that is not judged equivalent. "
        "These modules were chosen because their tests are quick and notice their mutants."
    )
    yield ""
    yield "| area | mutants | killed | judged equivalent | survived | score |"
    yield "| --- | --: | --: | --: | --: | --: |"
    yield from (f"| {score.name} | {_cells(score)} |" for score in source_scores(found))
    yield ""
    yield summary.omits
    yield from _listed(
        "Survivors, each as file, line and operator of cosmic-ray:",
        [_place(one) for one in found["mutants"] if outcome(one) == "survived"],
    )
    yield from _listed(
        "Judged equivalent, with the reason:",
        [
            f"{_place(one)}. {reason(one)}"
            for one in found["mutants"]
            if outcome(one) == "equivalent"
        ],
    )


def _listed(title: str, items: Sequence[str]) -> Iterator[str]:
    """Yield a list under its title; nothing if it is empty."""
    if items:
        yield from ("", title, "")
        yield from (f"* {item}" for item in items)


def _place(mutant: dict[str, Any]) -> str:
    """Return the place of a mutant of sources, and its operator."""
    operator = mutant["operator"].rpartition("/")[2]
    return f"`{mutant['path']}`, line {mutant['line']}: `{operator}`"


def _cells(one: Score) -> str:
    """Return the cells of a score after its name."""
    return f"{one.mutants} | {one.killed} | {one.equivalent} | {one.survived} | {one.score}"


def _coverage(found: dict[str, Any], said: Sequence[Summary]) -> Iterator[str]:
    """Yield the section on coverage."""
    [summary] = said
    rows = counted(found)
    yield "## Coverage"
    yield ""
    yield summary.result
    yield ""
    yield f"{summary.run} `{summary.command}` repeats it."
    yield ""
    yield "| what is counted | reached | of | share | excluded |"
    yield "| --- | --: | --: | --: | --: |"
    for row in rows:
        counts = f"{row.reached:,} | {row.places:,} | {row.share} | {row.excluded:,}"
        yield f"| {row.kind}: {row.meaning} | {counts} |"
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
    yield from _points(found["points"])
    yield "Coverage of each unit is the reached share of all places that are not excluded:"
    yield ""
    kinds = list(COVERED)
    yield f"| unit | {' | '.join(kinds)} |"
    yield "| --- |" + " --: |" * len(kinds)
    for unit, row in sorted(found["units"].items()):
        yield f"| {unit} | {' | '.join(share(*row[kind][:2]) for kind in kinds)} |"
    yield from _not_reached(found)
    yield ""
    yield summary.omits


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


def _attacks(_: Any, said: Sequence[Summary]) -> Iterator[str]:
    """Yield the section on random tests."""
    [summary] = said
    yield "## Attacks"
    yield ""
    yield summary.result
    yield ""
    yield (
        f"{summary.run} `{summary.command}` runs more. [Attacks](attacks.md) lists the runs, and "
        "what they do not show."
    )


_SECTIONS: dict[str, Callable[[Any, Sequence[Summary]], Iterator[str]]] = {
    PROOFS: _proofs,
    DEADLOCKS: _deadlocks,
    NETLIST_MUTANTS: _mutants,
    COVERAGE: _coverage,
    SOURCE_MUTANTS: _sources,
    ATTACKS: _attacks,
}
"""What makes the section of each record."""


def evidence_page(folder: Path = RECORDS) -> str:
    """Return the page; a record that does not exist has no section."""
    lines, records = [_HEAD], read(folder)
    for name, said in summaries(records).items():
        lines += [*_SECTIONS[name](records[name], said), ""]
    return "\n".join(lines)
