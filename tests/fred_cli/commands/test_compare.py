"""Tests of `fred compare`."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.studies.compare import compare
from perfmodel.topology.parse import FABRICS
from perfmodel.training.request import read_requests
from perfmodel.workloads.workload import WORKLOADS
from tests.fred_cli.fred import Fred


@pytest.mark.slow
def test_compare_has_a_row_for_each_pair(
    fred: Fred, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = compare(read_requests(FABRICS, WORKLOADS))
    monkeypatch.setattr("perfmodel.studies.compare.compare", lambda _: once)
    rows = fred.json("compare", "--csv", "compare.csv")["rows"]
    assert (
        len({(row["workload"], row["topology"]) for row in rows})
        == len(rows)
        == len(WORKLOADS) * len(FABRICS)
    )
    with (place / "compare.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [float(row["iteration [s]"]) for row in table] == [
        row["iteration_time_s"] for row in rows
    ]
    out = fred.out("compare")
    for row in rows:
        line = rf"^\s*{row['workload']}\s+{row['strategy']}\s+{row['topology']}\s+[\d,.]+"
        assert re.search(line, out, re.MULTILINE)


def test_compare_takes_fabrics_and_workloads(fred: Fred) -> None:
    arguments = ("--topology", "mesh:2x2", "--topology", "mesh:4x1", "--workload", "own.yaml")
    rows = fred.json("compare", *arguments)["rows"]
    assert [(row["topology"], row["strategy"]) for row in rows] == [
        ("mesh:2x2", "MP2-DP2-PP1"),
        ("mesh:4x1", "MP2-DP2-PP1"),
    ]


def test_without_names_a_model_of_compute_takes_the_workloads_that_it_knows(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Transformers take longer to calibrate.
    monkeypatch.setattr("perfmodel.workloads.workload.WORKLOADS", ("resnet-152", "mine"))
    rows = fred.json("compare", "--topology", "mesh:5x4", "--compute", "calibrated")["rows"]
    assert [row["workload"] for row in rows] == ["resnet-152"]


@pytest.mark.parametrize("command", ["compare", "strategies --samples 20 --least-npus 20"])
def test_rates_of_npus_are_those_of_all_fabrics(fred: Fred, command: str) -> None:
    fabrics = ("--topology", "mesh:5x4", "--topology", "fred-d")
    line = (*command.split(), *fabrics, "--workload", "resnet-152", "--json")
    usual, fast = (
        {(row["topology"], row["strategy"]): row["busy_s"] for row in json.loads(said)["rows"]}
        for said in (
            fred(*line)[1],
            fred(*line, "--npu=peak_flops=1e18", "--npu=hbm_bytes_per_s=1e15")[1],
        )
    )
    assert usual.keys() == fast.keys() and len({name for name, _ in usual}) == 2
    assert all(fast[key] < usual[key] / 100 for key in usual)


POOL = "memory-type: MEMORY_POOL\nremote-mem-bw: 1\n"
NODES = "memory-type: PER_NODE_MEMORY_EXPANSION\nremote-mem-bw: 1\nnum-nodes: 5\n"


@pytest.mark.parametrize("command", ["compare", "strategies --samples 20 --least-npus 20"])
def test_remote_memory_is_that_of_all_fabrics(command: str, fred: Fred, place: Path) -> None:
    (place / "pool.yaml").write_text(POOL)
    fabrics = ("--topology", "fred-d", "--topology", "mesh:5x4")
    line = (*command.split(), *fabrics, "--workload", "resnet-152", "--json")
    usual, pool = (
        {(row["topology"], row["strategy"]): row for row in json.loads(said)["rows"]}
        for said in (fred(*line)[1], fred(*line, "--memory", "pool.yaml")[1])
    )
    assert usual.keys() == pool.keys() and len({name for name, _ in usual}) == 2
    for key, row in pool.items():
        # A pool of 1 GB/s for all takes longer than any I/O controllers.
        assert row["communication_s"]["input_load"] > usual[key]["communication_s"]["input_load"]


@pytest.mark.parametrize("command", ["compare", "strategies"])
def test_remote_memory_must_be_there_for_the_largest_fabric(
    command: str, place: Path, refused: Callable[..., str]
) -> None:
    (place / "nodes.yaml").write_text(f"{NODES}num-npus-per-node: 1\n")
    fabrics = ("--topology", "mesh:2x2", "--topology", "fred-d")
    line = (command, *fabrics, "--workload", "resnet-152", "--memory")
    assert "nodes.yaml: num-nodes: must be enough for the 20 NPUs" in refused(*line, "nodes.yaml")
    assert "none.yaml: must be an existing file" in refused(*line, "none.yaml")
