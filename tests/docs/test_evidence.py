"""The page of evidence adds up its records, and says what each of them does not show."""

import json
from pathlib import Path
from typing import Any

from docs.generate.attacks import attacks_page
from docs.generate.evidence import evidence_page
from testbench.evidence.equivalent import EQUIVALENT
from testbench.evidence.summary import RECORDS
from testbench.formal.property import PROPERTIES


def attack(seed: int, **changed: Any) -> dict[str, Any]:
    counts = {"flits": 1200, "faults": 7, "resets": 2, "writes": 30}
    cases = {"kinds": {"mesh": 2, "wafer": 3}, "designs": ["a", f"b{seed}"], "failures": []}
    made = {
        "date": "2026-01-02",
        "version": "0.2.0",
        "sources": "ab12",
        "seed": seed,
        "minutes": 20.4,
    }
    return {**made, **cases, **counts, **changed}


def test_record_that_is_missing_has_no_section(tmp_path: Path) -> None:
    assert "##" not in evidence_page(tmp_path)
    (tmp_path / "attacks.json").write_text(json.dumps([attack(1)]))
    page = evidence_page(tmp_path)
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# Evidence",
        "## Attacks",
    ]


def test_entries_of_attacks_add_up(tmp_path: Path) -> None:
    entries = [attack(1), attack(9, flits=1_000_000, failures=["mesh, seed 9: stuck"])]
    (tmp_path / "attacks.json").write_text(json.dumps(entries))
    page = evidence_page(tmp_path)
    assert "10 random legal cases were compared" in page
    assert "1,001,200 flits on 3 designs, with 14 faults, 4 resets and 60" in page
    assert "Cases that failed: 1." in page
    assert "2 runs of 2026-01-02 took 41 minutes with seeds 1, 9." in page
    page = attacks_page(tmp_path / "attacks.json")
    assert "| 2 | 40.8 | 10 | 3 | 1,001,200 | 14 | 4 | 60 | 1 |" in page
    assert "| ab12 | 9 | 20.4 | mesh 2, wafer 3 | 1,000,000 | 7 | 2 | mesh, seed 9: stuck |" in page


def test_deadlocks_of_each_rule_are_counted_apart(tmp_path: Path) -> None:
    counts = {"classes": 3, "queues": 20, "states": 1_500, "most states": 900, "first stuck": None}
    rows = [
        {"kind": kind, "window": window, "rule": rule, **counts, "stuck": stuck}
        for kind, window, rule, stuck in (
            ("messages", 1, "bounded", 0),
            ("messages", 1, "endless", 4),
            ("rings", 1, "bounded", 0),
            ("rings", 1, "endless", 8),
            ("messages", 2, "bounded", 0),
        )
    ]
    entry = {"date": "2026-01-02", "version": "0.2.0", "tools": {"numba": "1"}, "seconds": 120}
    entry |= {"flits": 3, "queue": 2, "rows": rows}
    (tmp_path / "deadlocks.json").write_text(json.dumps(entry))
    page = evidence_page(tmp_path)
    assert "All 40 legal combinations" in page
    assert "5 searches visited 7,500 states." in page
    assert "With the rule of the hardware, 0 combinations have a deadlock." in page
    assert "a link forever, 12 have one." in page
    assert "| at least one ring | endless | 1 | 20 | 3 | 1,500 | 900 | 8 |" in page


def test_score_leaves_out_equivalent_mutants(tmp_path: Path) -> None:
    counts = {"drawn": 10, "killed": 6, "equivalent": 2, "survivors": ["-mode inv", "-mode const0"]}
    entry = {
        "date": "2026-01-02",
        "version": "0.2.0",
        "tools": {"Yosys": "1"},
        "seed": 3,
        "seconds": 120.0,
        "units": [{"properties": ["fifo-keeps-order"], "unit": "fifo", **counts}],
    }
    (tmp_path / "netlist-mutants.json").write_text(json.dumps(entry))
    page = evidence_page(tmp_path)
    assert "The score is 75.0 %" in page
    assert "(proofs.md#fifo-keeps-order) | 10 | 6 | 2 | 2 | 75.0 % |" in page
    assert "* fifo: `-mode const0`" in page


def test_survivors_among_sources_are_named(tmp_path: Path) -> None:
    mutants = [
        {"area": "model", "path": f"perfmodel/m{k}.py", "line": k, "operator": "core/Number"}
        | {"outcome": outcome}
        for k, outcome in enumerate(("killed", "survived", "hung", "killed"))
    ]
    entry = {"date": "2026-01-02", "version": "0.2.0", "tools": {"cosmic-ray": "8"}}
    entry |= {"seed": 3, "seconds": 120.0, "mutants": mutants}
    (tmp_path / "source-mutants.json").write_text(json.dumps(entry))
    page = evidence_page(tmp_path)
    assert "noticed 3 of the changes, 75.0 %" in page
    assert "| model | 4 | 3 | 0 | 1 | 75.0 % |" in page
    assert "`make source-mutants SEED=3 MUTANTS=4` repeats it." in page
    assert page.count("* `perfmodel") == 1
    assert "* `perfmodel/m1.py`, line 1: `Number`" in page


def test_equivalent_mutants_of_sources_have_a_reason(tmp_path: Path) -> None:
    known = EQUIVALENT[0]
    mutant = {"area": "compiler", "path": known.path, "line": 19, "operator": "core/Number"}
    mutant |= {"outcome": "survived", "difference": f"@@\n-{known.before}\n+{known.after}\n"}
    entry = {"date": "2026-01-02", "version": "0.2.0", "tools": {"cosmic-ray": "8"}}
    entry |= {"seed": 3, "seconds": 120.0, "mutants": [mutant]}
    (tmp_path / "source-mutants.json").write_text(json.dumps(entry))
    page = evidence_page(tmp_path)
    assert "noticed 0 of the changes, 0.0 %. A review judged 1 of the others equivalent" in page
    assert "| compiler | 1 | 0 | 1 | 0 | 0.0 % |" in page
    assert "Survivors" not in page
    assert f"* `{known.path}`, line 19: `Number`. {known.why}" in page


def test_proofs_count_what_holds_and_what_was_refuted(tmp_path: Path) -> None:
    record = json.loads((RECORDS / "proofs.json").read_text())
    [first, *_] = record["properties"]
    first["holds"], first["killed_after"] = None, None
    (tmp_path / "proofs.json").write_text(json.dumps(record))
    page = evidence_page(tmp_path)
    some = [one for one in record["properties"] if one["method"] == "induction"]
    proven = f"{len(some) - 1} of {len(some)} properties hold in any number of cycles."
    assert (
        f"| induction | {proven} {len(some) - 1} of them were also checked on a broken unit" in page
    )


def test_coverage_lists_shares_exclusions_and_what_was_not_reached(tmp_path: Path) -> None:
    entry = {
        "date": "2026-01-02",
        "sources": "ab12",
        "seed": 3,
        "tools": {"Verilator": "5"},
        "runs": [{"name": "switch", "design": "s", "tests": 9, "cpu_s": 150}],
        "left_out": ["mesh"],
        "units": {
            "Fifo": {"line": [4, 4, 0], "branch": [5, 8, 2], "toggle": [10, 20, 0]},
            "Wire": {"line": [0, 0, 0], "branch": [2, 2, 0], "toggle": [2, 4, 0]},
        },
        "points": {"Fifo.is_full": 7, "Fifo.wraps": 0, "Fifo.is_late": 0},
        "exclusions": [{"unit": "Fifo", "kinds": ["branch"], "places": 2, "why": "never"}],
        "holes": [
            f"{unit}: assign o = a ? b : c; -> cond_then" for unit in ("Fifo", "Fifo", "Wire")
        ],
    }
    (tmp_path / "coverage.json").write_text(json.dumps(entry))
    page = evidence_page(tmp_path)
    assert "that this run did not simulate: mesh." in page
    assert "took 2 minutes of CPU time with seed 3" in page
    assert "| branch: a side of a conditional expression | 7 | 10 | 70.0 % | 2 |" in page
    assert "| cover point: a condition on signals of a unit | 1 | 3 | 33.3 % | 0 |" in page
    assert "| Fifo | 100.0 % | 62.5 % | 50.0 % |" in page
    assert "| Wire | none | 100.0 % | 50.0 % |" in page
    assert "| Fifo | branch | 2 | never |" in page
    assert "| Fifo | 2 | wraps, is late |" in page
    assert "| Wire | 1 | none |" in page
    assert "assign o" not in page


def test_netlist_mutants_are_of_all_fast_properties() -> None:
    record = json.loads((RECORDS / "netlist-mutants.json").read_text(encoding="utf-8"))
    names = {name for one in record["units"] for name in one["properties"]}
    assert names == {name for name, one in PROPERTIES.items() if one.fast}
