"""Summaries add up their records, and each committed record has one."""

from pathlib import Path

from testbench.evidence.equivalent import EQUIVALENT
from testbench.evidence.summary import (
    COVERAGE,
    PROOFS,
    RECORDS,
    attack_totals,
    counted,
    netlist_scores,
    read,
    source_scores,
    summaries,
)


def test_every_committed_record_is_read() -> None:
    assert read().keys() == {path.name for path in RECORDS.iterdir()}


def test_records_that_do_not_exist_are_left_out(tmp_path: Path) -> None:
    assert read(tmp_path) == {}
    (tmp_path / PROOFS).write_text('{"tools": {}, "properties": []}')
    assert list(summaries(read(tmp_path))) == [PROOFS]


def test_only_proven_equivalence_leaves_a_mutant_out_of_the_score() -> None:
    unit = {"unit": "fifo", "drawn": 10, "killed": 6, "equivalent": 2}
    assert netlist_scores({"units": [unit]}) == [("fifo", 10, 6, 2, 2, "75.0 %")]
    unit |= {"killed": 0, "equivalent": 10}
    assert netlist_scores({"units": [unit]}) == [("fifo", 10, 0, 10, 0, "none")]
    outcomes = ("killed", "hung", "survived", "killed")
    mutants = [{"area": "model", "path": "m.py", "outcome": outcome} for outcome in outcomes]
    assert source_scores({"mutants": mutants}) == [("model", 4, 3, 0, 1, "75.0 %")]
    known = EQUIVALENT[0]
    difference = f"@@ -1 +1 @@\n-  {known.before}\n+  {known.after}\n"
    mutants[2] |= {"path": known.path, "difference": difference}
    assert source_scores({"mutants": mutants}) == [("model", 4, 3, 1, 0, "75.0 %")]


def test_designs_of_several_attacks_count_once() -> None:
    counts = {"flits": 5, "faults": 4, "resets": 3, "writes": 2, "minutes": 1.5}
    one = {**counts, "kinds": {"mesh": 2, "row": 1}, "designs": ["a", "b"], "failures": ["stuck"]}
    assert attack_totals([one, one | {"designs": ["b", "c"]}]) == {
        "runs": 2,
        "minutes": 3.0,
        "cases": 6,
        "designs": 3,
        "flits": 10,
        "faults": 8,
        "resets": 6,
        "writes": 4,
        "failures": 2,
    }


def test_excluded_places_are_not_among_those_to_reach() -> None:
    units = {
        "Fifo": {"line": [4, 4, 0], "branch": [5, 8, 2], "toggle": [10, 20, 0]},
        "Wire": {"line": [0, 0, 0], "branch": [2, 2, 0], "toggle": [2, 4, 0]},
    }
    rows = {one.kind: one for one in counted({"units": units, "points": {"a.b": 0, "a.c": 7}})}
    assert (rows["branch"].reached, rows["branch"].places, rows["branch"].excluded) == (7, 10, 2)
    assert [one.share for one in rows.values()] == ["100.0 %", "70.0 %", "50.0 %", "50.0 %"]


def test_coverage_of_the_package_is_summarized_by_kind() -> None:
    record = read()
    [summary] = summaries(record)[COVERAGE]
    for one in counted(record[COVERAGE]):
        assert f"{one.kind} {one.share}" in summary.result
