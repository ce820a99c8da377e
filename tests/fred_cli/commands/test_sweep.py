"""Tests of `fred sweep`."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from docs.generate.reference import EXAMPLES
from fred_cli import progress
from tests.fred_cli.fred import Fred

SWEEP = """
topologies: [mesh:2x2, mesh:4x1]
workloads: [own.yaml]
strategies: [MP2-DP2-PP1, MP1-DP4-PP1, MP1-DP5-PP1]
npus: [{}, {hbm_bytes: 1e6}]
"""


@pytest.fixture(autouse=True)
def _sweep(place: Path) -> None:
    (place / "sweep.yaml").write_text(SWEEP)


def test_table_and_files_have_what_json_has(fred: Fred, place: Path) -> None:
    said = fred.json("sweep", "sweep.yaml", "--csv", "a.csv", "--parquet", "a.pq")
    rows = said["rows"]
    assert said["baseline"] == "mesh:2x2"
    assert len(rows) == 12
    assert [row["estimate"] is None for row in rows] == 8 * [False] + 4 * [True]
    with (place / "a.csv").open() as file:
        table = list(csv.DictReader(file))
    frame = pd.read_parquet(place / "a.pq")
    assert list(frame) == list(dict.fromkeys(frame)) and len(frame) == 12
    for row, line, record in zip(rows, table, frame.to_dict("records"), strict=True):
        point, found = row["point"], row["estimate"]
        assert {key: line[key] for key in point} == {key: record[key] for key in point} == point
        assert line["problem"] == record["problem"] == row["problem"]
        energy = "" if found is None else str(found["energy"]["total_j"])
        assert line["energy [J]"] == energy
        if found is None:
            assert line["iteration [s]"] == line["memory"] == line["speedup"] == ""
            assert pd.isna(record["iteration_time_s"]) and pd.isna(record["speedup"])
            continue
        assert float(line["iteration [s]"]) == record["iteration_time_s"]
        assert float(line["speedup"]) == record["speedup"] == row["speedup"]
        assert line["memory"] == record["memory_verdict"] == found["memory_verdict"]
        assert line["placed"] == record["placed"] == found["placement"]
        assert record["exposed_s.mp"] == found["exposed_s"]["mp"] == float(line["mp [s]"])
    out = fred.out("sweep", "sweep.yaml")
    assert out.startswith("Sweep [ms], speed-up over mesh:2x2; workload own.yaml, compute first-")
    shown = [line.split() for line in out.splitlines() if re.match("  MP", line)]
    ran = [row for row in rows if row["estimate"]]
    assert [(line[0], "hbm_bytes=1000000" in line) for line in shown] == [
        (row["point"]["strategy"], row["point"]["npu"] != "") for row in ran
    ]
    for line, row in zip(shown, ran, strict=True):
        assert f"{row['estimate']['iteration_time_s'] * 1e3:,.3f}" in line
        assert f"{row['speedup']:.3f}" in line
    problems = [row["problem"] for row in rows if row["problem"]]
    for problem in set(problems):
        assert f"cannot run, {problems.count(problem)} of 12 points: {problem}\n" in out


def test_parts_and_lists_that_tell_nothing_are_not_shown(fred: Fred) -> None:
    out = fred("sweep", "sweep.yaml")[1]
    titles = next(line for line in out.splitlines() if "iteration" in line)
    assert re.split(r"\s{2,}", titles.strip()) == [
        *("strategy", "npu", "topology", "iteration", "per sample", "compute", "mp", "dp"),
        *("speed-up", "memory"),
    ]


def test_progress_counts_the_points(
    fred: Fred, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setattr(progress, "_QUIET_S", 0.0)
    status, _, err = fred("sweep", "sweep.yaml", "--json")
    assert status == 0
    assert re.fullmatch(r"estimating points \.\.\.\nestimating points: \d+ s\n", err), err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.yaml", r"none\.yaml: must be an existing file, not a missing one"),
        ("empty.yaml", r"empty\.yaml: must hold .*"),
        ("own.yaml", r"own\.yaml: must be a sweep, not a workload"),
        ("bad.yaml", r"bad\.yaml: baseline: must be one of mesh:2x2, not 'fred-d'"),
        ("sweep.yaml --csv folder.yaml", r"folder\.yaml: must be a file, not a directory"),
        ("sweep.yaml --parquet a-file/x", r"a-file: must be a folder, not a file"),
        ("sweep.yaml --csv x --parquet x", r"--parquet: must be another file than --csv"),
        ("sweep.yaml --parquet ./x --csv x", r"--csv: must be another file than --parquet"),
        ("", r"fred sweep: Missing argument 'FILE'\."),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    refused: Callable[..., str], place: Path, arguments: str, message: str
) -> None:
    (place / "bad.yaml").write_text(
        "topologies: [mesh:2x2]\nworkloads: [own.yaml]\nbaseline: fred-d\n"
    )
    said = refused("sweep", *arguments.split())
    assert re.fullmatch(f"error: {message}", said), said


def test_sweep_that_cannot_run_leaves_the_files_alone(
    refused: Callable[..., str], place: Path
) -> None:
    (place / "bad.yaml").write_text(
        "topologies: [mesh:2x2]\nworkloads: [own.yaml]\nstrategies: [MP1-DP5-PP1]\n"
    )
    (place / "old.csv").write_text("old")
    said = refused("sweep", "bad.yaml", "--csv", "old.csv")
    assert said.startswith(
        "error: bad.yaml: must have a point that can run; the first cannot: strategy: must fit"
    )
    assert (place / "old.csv").read_text() == "old"


def test_traces_are_run_on_each_network(fred: Fred, place: Path) -> None:
    file = str(EXAMPLES / "trace-sweep.yaml")
    said = fred.json("sweep", file, "--csv", "a.csv", "--parquet", "a.pq")
    assert said["baseline"] == "astra-network.yaml"
    assert [row["network"] for row in said["rows"]] == ["astra-network.yaml", "fred-d", "mesh:5x4"]
    with (place / "a.csv").open() as text:
        table = list(csv.DictReader(text))
    frame = pd.read_parquet(place / "a.pq")
    for row, line, total in zip(said["rows"], table, frame["last.total_ns"], strict=True):
        assert int(line["total_ns"]) == row["last"]["total_ns"] == total
        assert float(line["speedup"]) == row["speedup"]
    assert re.search(r"mesh:5x4 +2,397,504", fred.out("sweep", file))
