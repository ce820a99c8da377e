"""Summaries of the records of verification: what was run, what was found, and what is not shown.

The documentation and the report show these numbers and texts. Commands such as ``make coverage``
write the records.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from testbench.evidence.equivalent import outcome

__all__ = [
    "ATTACKS",
    "ATTACKS_OMIT",
    "COVERAGE",
    "COVERED",
    "DEADLOCKS",
    "NETLIST_MUTANTS",
    "PROOFS",
    "RECORDS",
    "SOURCE_MUTANTS",
    "Counted",
    "Score",
    "Summary",
    "attack_totals",
    "counted",
    "netlist_scores",
    "read",
    "share",
    "source_scores",
    "summaries",
]

RECORDS = Path(__file__).parent / "records"
PROOFS, DEADLOCKS, NETLIST_MUTANTS = "proofs.json", "deadlocks.json", "netlist-mutants.json"
COVERAGE, SOURCE_MUTANTS, ATTACKS = "coverage.json", "source-mutants.json", "attacks.json"

COVERED = {
    "line": "an `always` block",
    "branch": "a side of a conditional expression",
    "toggle": "a bit of a net that rises, or falls",
}
"""Meaning of each kind of coverage that is counted for each unit."""

ATTACKS_OMIT = (
    "fabrics of more than nine NPUs, or of more than four ports per switch",
    "resets of a mesh, or resets of some endpoints while others work",
    "gate-level netlists, or units with different clocks",
    "errors that the golden model shares with the hardware",
)
"""What random tests do not show."""


@dataclass(frozen=True)
class Summary:
    """Summary of one record, or of the part that used one method.

    Parameters
    ----------
    name, command : str
        The method, and the command that repeats the run.
    result : str
        What was found.
    run : str
        Duration, and date, seed and versions of tools if the record has them.
    omits : str
        What the result does not show.
    """

    name: str
    command: str
    result: str
    run: str
    omits: str


class Score(NamedTuple):
    """Mutants of a unit or of an area, by outcome.

    Parameters
    ----------
    name : str
        The unit or the area.
    mutants, killed, equivalent, survived : int
        All mutants; those that a property refutes or a test notices; equivalent ones, by proof for
        netlists and in a reviewer's judgement for sources; and all others.
    score : str
        Share of the mutants that are noticed among those that are not proven equivalent.
    """

    name: str
    mutants: int
    killed: int
    equivalent: int
    survived: int
    score: str


class Counted(NamedTuple):
    """Coverage of one kind.

    Parameters
    ----------
    kind, meaning : str
        Name of the kind, and what is counted.
    reached, places, excluded : int
        Reached places, all places that are not excluded, and excluded places.
    """

    kind: str
    meaning: str
    reached: int
    places: int
    excluded: int

    @property
    def share(self) -> str:
        """Reached share of the places."""
        return share(self.reached, self.places)


def read(folder: Path = RECORDS) -> dict[str, Any]:
    """Return the records of a folder by file name; those that do not exist are left out."""
    return {
        name: json.loads((folder / name).read_text(encoding="utf-8"))
        for name in _SUMMARIES
        if (folder / name).exists()
    }


def summaries(records: Mapping[str, Any]) -> dict[str, list[Summary]]:
    """Return the summaries of each record by file name."""
    return {name: _SUMMARIES[name](found) for name, found in records.items()}


def counted(found: Mapping[str, Any]) -> list[Counted]:
    """Return the coverage of each kind in a record of coverage."""
    rows: list[Counted] = []
    for kind, meaning in COVERED.items():
        places = [unit[kind] for unit in found["units"].values()]
        rows.append(Counted(kind, meaning, *(sum(row[k] for row in places) for k in range(3))))
    points = found["points"].values()
    reached = sum(count > 0 for count in points)
    return [
        *rows,
        Counted("cover point", "a condition on signals of a unit", reached, len(points), 0),
    ]


def netlist_scores(found: Mapping[str, Any]) -> list[Score]:
    """Return the score of each unit in a record of mutants of netlists."""
    return [
        _netlist_score(one["unit"], one["drawn"], one["killed"], one["equivalent"])
        for one in found["units"]
    ]


def _netlist_score(name: str, drawn: int, killed: int, equivalent: int) -> Score:
    """Return a score: killed mutants among those that are not proven equivalent."""
    different = drawn - equivalent
    score = share(killed, different)
    return Score(name, drawn, killed, equivalent, different - killed, score)


def source_scores(found: Mapping[str, Any]) -> list[Score]:
    """Return the score of each area in a record of mutants of sources."""
    areas = dict.fromkeys(one["area"] for one in found["mutants"])
    return [
        _source_score(area, (one for one in found["mutants"] if one["area"] == area))
        for area in areas
    ]


def _source_score(name: str, mutants: Iterable[Mapping[str, Any]]) -> Score:
    """Return the score of some mutants of sources."""
    counts = Counter(outcome(one) for one in mutants)
    killed, judged, survived = (counts[one] for one in ("killed", "equivalent", "survived"))
    return Score(name, counts.total(), killed, judged, survived, share(killed, counts.total()))


def attack_totals(entries: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the totals of all runs of random tests by name."""
    sums = {
        name: sum(one[name] for one in entries)
        for name in ("minutes", "flits", "faults", "resets", "writes")
    }
    return {
        "runs": len(entries),
        "minutes": sums.pop("minutes"),
        "cases": sum(sum(one["kinds"].values()) for one in entries),
        "designs": len({name for one in entries for name in one["designs"]}),
        **sums,
        "failures": sum(len(one["failures"]) for one in entries),
    }


def share(part: int, whole: int) -> str:
    """Return a share in percent; "none" of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _proofs(found: Mapping[str, Any]) -> list[Summary]:
    """Return a summary for each method of proof."""
    sizes = "other sizes of the unit; timing after synthesis"
    methods = {
        "induction": f"{sizes}; liveness (every packet arrives), unless stated",
        "bounded": f"{sizes}; violations that need more cycles, if the unit has feedback",
    }
    rows: list[Summary] = []
    for method, omits in methods.items():
        some = [one for one in found["properties"] if one["method"] == method]
        proven = sum(one["holds"] is True for one in some)
        refuted = sum(one["killed_after"] is not None for one in some)
        depths = sorted({one["cycles"] for one in some if one["cycles"]})
        depth = f"in {depths[0]} to {depths[-1]} cycles" if depths else "in any number of cycles"
        result = (
            f"{proven} of {len(some)} properties hold {depth}. "
            f"{refuted} of them were also checked on a broken unit (mutant), and refuted there."
        )
        seconds = sum(one["seconds"] for one in some)
        run = f"These searches took {_minutes(seconds)} ({_tools(found)})."
        rows.append(Summary(f"proofs: {method}", "make formal", result, run, omits))
    return rows


def _deadlocks(found: Mapping[str, Any]) -> list[Summary]:
    bounded, endless = (
        [row for row in found["rows"] if row["rule"] == rule] for rule in ("bounded", "endless")
    )
    queues = {row["kind"]: row["queues"] for row in bounded}
    states = sum(row["states"] for row in found["rows"])
    stuck = sum(row["stuck"] for row in bounded)
    result = (
        f"All {sum(queues.values()):,} legal combinations of up to two descriptors at each of four "
        "endpoints were searched. The model has three switches. "
        f"{len(found['rows'])} searches visited {states:,} states. "
        f"With the rule of the hardware, {stuck} combinations have a deadlock. If a full receive "
        f"queue may block a link forever, {sum(row['stuck'] for row in endless):,} have one."
    )
    run = (
        f"The run of {found['date']} took {_minutes(found['seconds'])} "
        f"(fred-hw {found['version']}, {_tools(found)})."
    )
    omits = (
        "The search does not show fabrics with more switches, planes or endpoints, longer queues, "
        "larger windows, other sizes of messages, or rings with the steps of an all-reduce. Phases "
        "that reduce or multicast in switches are not in the model. A packet is one flit, acks "
        "arrive at once, and all flows are on one virtual channel. How often a flit is dropped is "
        "not bounded."
    )
    return [Summary("search for deadlocks", "make deadlocks", result, run, omits)]


def _netlist_mutants(found: Mapping[str, Any]) -> list[Summary]:
    scores = netlist_scores(found)
    total = _netlist_score(
        "all",
        sum(one.mutants for one in scores),
        sum(one.killed for one in scores),
        sum(one.equivalent for one in scores),
    )
    result = (
        f"Yosys drew {total.mutants} mutants of {len(scores)} units. ABC found a violation of a "
        f"property for {total.killed} of them. {total.equivalent} others are proven equivalent to "
        f"the unit. The score is {total.score}: killed mutants among those that are not proven "
        "equivalent."
    )
    omits = (
        "The sample does not show that every change of a unit is noticed. Units without a property "
        "in the regular tests are not in the sample. For properties proven by induction, the "
        "search for a violation ends after 30 cycles."
    )
    return [Summary("mutants of netlists", "make netlist-mutants", result, _run(found), omits)]


def _coverage(found: Mapping[str, Any]) -> list[Summary]:
    shares = ", ".join(f"{one.kind} {one.share}" for one in counted(found))
    tests = sum(one["tests"] for one in found["runs"])
    result = (
        f"{tests} tests of {len(found['runs'])} small designs ran in Verilator, which counted the "
        f"executed parts of the generated Verilog: {shares}."
    )
    run = (
        f"The run of {found['date']} took {_minutes(sum(one['cpu_s'] for one in found['runs']))} "
        f"of CPU time with seed {found['seed']} ({_tools(found)}; sources {found['sources']})."
    )
    omits = (
        "Coverage does not show that results were right: benches and the golden model check that. "
        "It does not show units of other designs, other sizes, or combinations of events that are "
        "not cover points. Gates without a multiplexer have no branches."
    )
    return [Summary("coverage", "make coverage", result, run, omits)]


def _source_mutants(found: Mapping[str, Any]) -> list[Summary]:
    total = _source_score("all", found["mutants"])
    result = (
        "cosmic-ray changed one operator, number or condition of the Python sources at a time, "
        f"{total.mutants} times. The tests of the module, of its folder, and others that import it "
        f"noticed {total.killed} of the changes, {total.score}. "
        f"A review judged {total.equivalent} of the others equivalent, which is no proof. "
        "They count as not noticed."
    )
    omits = (
        "The sample is small: it does not show that every change of a line is noticed. "
        "Annotations, declarations of data classes and sizes of caches are not changed. A survivor "
        "may fail in a slow test or in a test of another folder."
    )
    command = f"make source-mutants SEED={found['seed']} MUTANTS={total.mutants}"
    return [Summary("mutants of sources", command, result, _run(found), omits)]


def _attacks(entries: Sequence[Mapping[str, Any]]) -> list[Summary]:
    total = attack_totals(entries)
    result = (
        f"{total['cases']:,} random legal cases were compared with the golden model: "
        f"{total['flits']:,} flits on {total['designs']} designs, with {total['faults']:,} faults, "
        f"{total['resets']:,} resets and {total['writes']:,} register writes. "
        f"Cases that failed: {total['failures']}."
    )
    seeds = ", ".join(str(one["seed"]) for one in entries)
    dates = sorted({one["date"] for one in entries})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    run = f"{len(entries)} runs of {when} took {total['minutes']:.0f} minutes with seeds {seeds}."
    omits = "; ".join(ATTACKS_OMIT)
    return [Summary("attacks: random tests", "make attack", result, run, omits)]


def _run(found: Mapping[str, Any]) -> str:
    """Return a sentence on date, time, seed and tools of a run."""
    return (
        f"The run of {found['date']} took {_minutes(found['seconds'])} with seed {found['seed']} "
        f"(fred-hw {found['version']}, {_tools(found)})."
    )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes"


def _tools(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in found["tools"].items())


_SUMMARIES: dict[str, Callable[[Any], list[Summary]]] = {
    PROOFS: _proofs,
    DEADLOCKS: _deadlocks,
    NETLIST_MUTANTS: _netlist_mutants,
    COVERAGE: _coverage,
    SOURCE_MUTANTS: _source_mutants,
    ATTACKS: _attacks,
}
"""What summarizes each record, in the order of the documentation."""
