"""Tests of `fred study`."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from unittest.mock import ANY

import pandas as pd
import pytest
import yaml

from studies.study import engine, optimize
from studies.study.optimize import Budget
from studies.study.run import Summary
from studies.study.store import create_store
from tests.fred_cli.fred import Fred
from tests.studies.study.engines import Inline

SPACE = {"topology": "mesh:2x2", "workload": "resnet-50", "strategy.dp": [2, 4, 8]}
STUDY = {"space": SPACE, "constraints": ["workers < 8"], "objectives": ["iteration_time_s"]}


@pytest.fixture(autouse=True)
def _study(place: Path) -> None:
    (place / "study.yaml").write_text(yaml.safe_dump(STUDY))


@pytest.mark.slow
def test_a_study_is_run_queried_and_exported(fred: Fred, place: Path) -> None:
    run = ("study", "run", "study.yaml", "-o", "store", "--workers", "1")
    found = fred.json(*run)
    assert (found["points"], found["computed"], found["failed"]) == (2, 2, 0)
    assert found["excluded"] == {"workers < 8": 1}
    best = found["best"]["iteration_time_s"]
    out = fred.out(*run)
    assert out.startswith(
        "2 points: 0 computed, 2 there before, 0 failed\n  1 points do not satisfy workers < 8\n"
    )
    said = f"least iteration_time_s: {best['iteration_time_s']:.6g} with dp {best['dp']}"
    assert said in out

    sql = "select dp, iteration_time_s from points order by dp"
    rows = fred.json("study", "query", "store", sql, "--csv", "t.csv")["rows"]
    assert [row["dp"] for row in rows] == [2, 4]
    assert min(row["iteration_time_s"] for row in rows) == best["iteration_time_s"]
    with (place / "t.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [float(row["iteration_time_s"]) for row in table] == [
        row["iteration_time_s"] for row in rows
    ]
    out = fred.out("study", "query", "store", sql)
    assert "2 rows" in out and f"{rows[0]['iteration_time_s']:.6g}" in out

    fred.out("study", "export", "store", "all.parquet")
    exported = fred.json("study", "export", "store", "all.csv")
    assert (exported["rows"], exported["file"]) == (2, "all.csv")
    frame = pd.read_parquet(place / "all.parquet")
    assert sorted(frame["dp"]) == [2, 4]
    assert list(frame) == exported["columns"] == list(pd.read_csv(place / "all.csv"))
    assert fred.json("study", "migrate", "store") == {"store": "store", "before": 1, "after": 1}
    assert "schema version 1, as before" in fred.out("study", "migrate", "store")


@pytest.mark.slow
def test_a_screened_study_prints_what_it_skips_and_its_front(fred: Fred, place: Path) -> None:
    space = {**SPACE, "npu.peak_flops": [1e12, 1e15], "strategy.dp": [2, 4]}
    objectives = ["iteration_time_s", "memory.total_bytes"]
    study = {"space": space, "objectives": objectives}
    (place / "study.yaml").write_text(yaml.safe_dump(study))
    run = ("study", "run", "study.yaml", "-o", "store", "--workers", "1", "--screen")
    out = fred.out(*run)
    assert re.match(r"4 points: \d computed, 0 there before, \d skipped by their bounds, 0 ", out)
    assert re.search(r"Pareto front: (\d) points", out)
    found = fred.json(*run)
    assert found["computed"] == 0
    assert 1 <= len(found["front"]) <= 4 - found["screened"]
    assert {"npu.peak_flops", "dp", *objectives} < {*found["front"][0]}
    sql = "select * from front order by iteration_time_s"
    assert len(fred.json("study", "query", "store", sql)["rows"]) == len(found["front"])


@pytest.mark.slow
def test_a_study_is_searched(fred: Fred, place: Path) -> None:
    pytest.importorskip("optuna")
    run = ("study", "optimize", "study.yaml", "-o", "store", "--workers", "1", "--points", "5")
    out = fred.out(*run)
    assert re.match(r"(1|2) of 3 points taken: \d computed, 0 there before, 0 failed\n", out)
    assert "least iteration_time_s: " in out
    assert fred.json(*run)["computed"] == 0
    minutes = (*run[:-2], "--minutes", "0.001")
    assert fred.json(*minutes)["computed"] == 0


@pytest.mark.slow
def test_speedups_over_a_baseline_are_printed(fred: Fred, place: Path) -> None:
    space = {**SPACE, "topology": ["mesh:2x2", "mesh:4x1"], "strategy.dp": 4}
    study = {"space": space, "baseline": "mesh:4x1"}
    (place / "study.yaml").write_text(yaml.safe_dump(study))
    run = ("study", "run", "study.yaml", "-o", "store", "--workers", "1")
    out, rows = fred.out(*run), fred.json(*run)["speedups"]
    assert [row["topology"] for row in rows] == ["mesh:2x2", "mesh:4x1"]
    assert "Speed-up over mesh:4x1: 2 points" in out
    for row in rows:
        assert re.search(rf"{row['topology']} +{row['iteration_time_s']:.6g} +", out)
        assert f"{row['speedup']:.6g}" in out
    assert rows[0]["speedup"] > rows[1]["speedup"] == 1.0


def test_failed_points_are_computed_again_if_asked(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, sql = ("study", "run", "study.yaml", "-o", "store"), "select key, error from points"
    monkeypatch.setattr(engine, "open_engine", lambda *_: Inline(poison=[ANY]))
    first = fred.json(*run)
    assert (first["computed"], first["failed"]) == (2, 2)
    failed = fred.json("study", "query", "store", sql)["rows"]
    assert all("worker process ended" in row["error"] for row in failed)
    monkeypatch.setattr(engine, "open_engine", lambda *_: Inline())
    assert fred.json(*run)["computed"] == 0
    again = fred.json(*run, "--retry-failed")
    assert (again["points"], again["computed"], again["failed"]) == (2, 2, 0)
    rows = fred.json("study", "query", "store", sql)["rows"]
    assert {row["key"]: row["error"] for row in rows} == {row["key"]: None for row in failed}
    assert fred.json(*run, "--retry-failed")["computed"] == 0


@pytest.mark.parametrize(
    ("words", "budget"),
    [
        ((), Budget(1000, None)),
        (("--points", "7"), Budget(7, None)),
        (("--minutes", "2.5"), Budget(None, 150.0)),
        (("--points", "7", "--minutes", "2.5"), Budget(7, 150.0)),
    ],
    ids=["default", "points", "minutes", "both"],
)
def test_a_search_ends_after_points_or_minutes(
    fred: Fred, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], budget: Budget
) -> None:
    asked: list[Budget] = []

    def searched(_plan: object, _folder: Path, budget: Budget, *_: object) -> Summary:
        asked.append(budget)
        return Summary(0, 0, 0, {}, 0, {}, [], [])

    monkeypatch.setattr(optimize, "optimize_study", searched)
    fred.json("study", "optimize", "study.yaml", "-o", "store", *words)
    assert asked == [budget]


def test_progress_is_lines_of_json(fred: Fred) -> None:
    run = ("study", "run", "study.yaml", "-o", "store", "--workers", "1", "--json-progress")
    status, _, err = fred(*run)
    assert status == 0
    lines = [json.loads(line) for line in err.splitlines()]
    assert {key: lines[-1][key] for key in ("done", "total", "failed", "remaining_s")} == {
        "done": 2,
        "total": 2,
        "failed": 0,
        "remaining_s": 0.0,
    }
    assert lines[-1]["rate"] > 0
    assert (lines[0]["done"], lines[0]["remaining_s"]) == (0, None)
    status, _, err = fred(*run)
    assert [json.loads(line) for line in err.splitlines()] == [
        {"done": 2, "total": 2, "failed": 0, "rate": 0.0, "remaining_s": 0.0}
    ]


def test_progress_of_a_search_ends_with_its_last_point(fred: Fred) -> None:
    pytest.importorskip("optuna")
    words = ("study", "optimize", "study.yaml", "-o", "store", "--workers", "1", "--points", "50")
    status, _, err = fred(*words, "--json-progress")
    assert status == 0
    lines = [json.loads(line) for line in err.splitlines()]
    assert (lines[0]["done"], lines[0]["total"]) == (0, 50)
    assert 0 < lines[-1]["done"] == lines[-1]["total"] <= 2
    assert lines[-1]["remaining_s"] == 0.0


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"space": {**SPACE, "topology.colums": 2}},
            "study.yaml: space.topology.colums: unknown key; .*did you mean 'columns'",
        ),
        ({"space": {**SPACE, "strategy.dp": []}}, "study.yaml: space.strategy.dp: must have 1 or"),
        (
            {"constraints": ["dp > 1", "dp > 8"]},
            "study.yaml: constraints.1: must leave a point, not remove the last 3 of 3: dp > 8",
        ),
        (
            {"space": {**SPACE, "npu.hbm_bytes": {"distribution": "normal", "mean": 1, "std": -1}}},
            "study.yaml: space.npu.hbm_bytes",
        ),
    ],
)
def test_bad_studies_are_refused(
    refused: Callable[..., str], place: Path, change: dict[str, object], line: str
) -> None:
    (place / "study.yaml").write_text(yaml.safe_dump({**STUDY, **change}))
    assert re.match(f"error: {line}", refused("study", "run", "study.yaml", "-o", "store"))
    assert not list(place.glob("store/rows-*"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("run", "study.yaml"), "Missing option '--output'"),
        (("optimize", "study.yaml"), "Missing option '--output'"),
        (
            ("optimize", "study.yaml", "-o", "store", "--points", "0"),
            "--points: must be an integer from 1 to 10000000, not '0'",
        ),
        (("query", "none", "select 1"), "none: must be the store of a study, not without one"),
        (("export", "none", "x.csv"), "none: must be the store of a study, not without one"),
        (("export", "none", "x.txt"), "FILE: must end in .csv or .parquet, not 'x.txt'"),
        (("migrate", "study.yaml"), "study.yaml: must be the store of a study, not a file"),
        (
            ("run", "study.yaml", "-o", "."),
            ".: must be a store, an empty folder or a new name",
        ),
        (
            ("run", "study.yaml", "-o", "store", "--scheduler", "tcp:/h"),
            "--scheduler: must be tcp://HOST:PORT or slurm:KEY=VALUE,..., not 'tcp:/h'",
        ),
    ],
)
def test_bad_words_are_refused(
    refused: Callable[..., str], words: tuple[str, ...], line: str
) -> None:
    assert line in refused("study", *words)


def test_a_store_of_a_newer_version_is_refused(refused: Callable[..., str], place: Path) -> None:
    (place / "store").mkdir()
    (place / "store" / "store.json").write_text(json.dumps({"schema": 9}))
    line = "store/store.json: schema: must be at most 1, not 9, which a newer fred-hw wrote"
    assert line in refused("study", "query", "store", "select 1")
    assert line in refused("study", "run", "study.yaml", "-o", "store")


@pytest.mark.parametrize("command", ["run", "optimize"])
def test_what_cannot_be_written_or_reached_is_refused(
    refused: Callable[..., str], place: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "CONNECT_S", 0.2)
    words = ("study", command, "study.yaml", "-o", "store")
    unreachable = ("--scheduler", "tcp://127.0.0.1:9")
    said = refused(*words, *unreachable)
    assert said.startswith("error: --scheduler: tcp://127.0.0.1:9: must be a Dask scheduler that ")
    assert not (place / "store").exists()
    with create_store(place / "store").locked():
        said = refused(*words, "--workers", "1")
    assert said == "error: store: must not be in use, not locked by another process that writes it"
    assert not list(place.glob("store/rows-*"))


def test_bad_queries_are_refused(refused: Callable[..., str], place: Path) -> None:
    create_store(place / "store").append(
        [
            {
                "key": "a",
                "error": None,
                "records": "",
                "version": "1",
                "seed": 1,
                "host": "h",
                "duration_s": 0.1,
            }
        ]
    )
    assert refused("study", "query", "store", "selec").startswith("error: SQL: must be a query")
    assert refused("study", "query", "store", "drop view points").startswith("error: SQL: must be")


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("{", "store/store.json: must be JSON, not other text"),
        ("{}", "store/store.json: must be an object with the key schema, not {}"),
        ("[]", "store/store.json: must be an object with the key schema, not []"),
        ('{"schema": "x"}', "store/store.json: schema: must be 1 to 1, not 'x'"),
        ('{"schema": true}', "store/store.json: schema: must be 1 to 1, not True"),
    ],
)
def test_a_damaged_head_of_a_store_is_named(
    refused: Callable[..., str], place: Path, head: str, line: str
) -> None:
    (place / "store").mkdir()
    (place / "store" / "store.json").write_text(head)
    assert refused("study", "query", "store", "select 1") == f"error: {line}"


@pytest.mark.parametrize("command", ["query", "export", "run"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must be a Parquet file of a store, not with: "),
        (b"no Parquet file", "must be a Parquet file of a store, not with: "),
        (None, "key: must be a column of the file, not missing"),
    ],
    ids=["empty", "damaged", "other"],
)
def test_a_damaged_file_of_a_store_is_named(
    refused: Callable[..., str], place: Path, command: str, content: bytes | None, message: str
) -> None:
    (place / "store" / "rows-1").mkdir(parents=True)
    (place / "store" / "lock").write_text("")
    (place / "store" / "store.json").write_text(json.dumps({"schema": 1}))
    file = place / "store" / "rows-1" / "00000001.parquet"
    if content is None:
        pd.DataFrame({"a": [1]}).to_parquet(file)
    else:
        file.write_bytes(content)
    words = {
        "query": ("query", "store", "select 1"),
        "export": ("export", "store", "out.csv"),
        "run": ("run", "study.yaml", "-o", "store", "--workers", "1"),
    }
    said = refused("study", *words[command])
    assert said.startswith(f"error: store/rows-1/00000001.parquet: {message}")
