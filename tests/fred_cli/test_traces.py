"""Tests of `fred estimate` with the files and traces of ASTRA-sim."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from fred_cli.traces import _spans
from perfmodel.chakra.files import read, write

Run = Callable[..., tuple[int, str, str]]

FILES = [
    f"--{name}={EXAMPLES}/astra-{name}.yaml" for name in ("network", "system", "memory", "groups")
]
STEP = ["estimate", *FILES, f"--workload={EXAMPLES}/astra-step/step"]
KEYS = ["rank", "total_ns", "compute_ns", "communication_ns", "overlap_ns"]
KEYS.append("exposed_communication_ns")


@pytest.mark.parametrize("model", ["unaware", "aware"])
def test_times_of_all_ranks_are_said(model: str, fred: Run) -> None:
    status, out, err = fred(*STEP, "--network-model", model, "--json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    assert said["network_model"] == model
    assert [[*row] for row in said["ranks"]] == [KEYS] * 4
    assert [row["rank"] for row in said["ranks"]] == [0, 1, 2, 3]
    for row in said["ranks"]:
        total, compute, other, both, exposed = [*row.values()][1:]
        assert exposed == total - compute and both <= min(compute, other)
    assert said["total_ns"] == max(row["total_ns"] for row in said["ranks"])
    status, out, err = fred(*STEP, "--network-model", model)
    assert (status, err) == (0, "")
    # NPUs 0 and 2 are the first at the memory of their nodes, 1 and 3 wait for them.
    for ranks, row in (("0, 2", said["ranks"][0]), ("1, 3", said["ranks"][1])):
        figures = " +".join(f"{value:,}" for value in [*row.values()][1:])
        assert re.search(rf"{ranks} +{figures}", out)


def test_congestion_is_no_faster(fred: Run) -> None:
    ends = [
        json.loads(fred(*STEP, "--network-model", model, "--json")[1])["total_ns"]
        for model in ("unaware", "aware")
    ]
    assert ends[0] < ends[1]


def test_traces_are_read_in_each_format(fred: Run, tmp_path: Path) -> None:
    for rank in range(4):
        write(tmp_path / f"w.{rank}.et", read(EXAMPLES / f"astra-step/step.{rank}.json"))
    line = [*STEP, "--network-model", "unaware", "--json"]
    found = [
        json.loads(fred(*line, *more)[1]) for more in ([], ["--workload", str(tmp_path / "w")])
    ]
    assert found[0]["ranks"] == found[1]["ranks"]


def test_ranks_that_are_alike_are_one_row() -> None:
    assert _spans([3]) == "3"
    assert _spans([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert _spans([*range(0, 20, 2)]) == "0, 2, 4, 6, 8, 10 and 4 more"


GIVEN = " ".join(FILES[:2])
REFUSED = {
    "--workload gpt-3": r"fred estimate: --topology: must be given, or --network",
    f"{GIVEN} --workload w": r"fred estimate: --network-model: must be given with --network",
    f"{FILES[0]} --workload w": r"fred estimate: --system: must be given with --network",
    f"{GIVEN} --workload w --network-model fluid": r".*'fluid' is not one of 'unaware', 'aware'\.",
    f"{GIVEN} --network-model aware --workload w --topology fred-d": (
        r"fred estimate: --topology: must be left out with --network"
    ),
    f"{GIVEN} --network-model aware --workload w --samples 2": (
        r"fred estimate: --samples: must be left out with --network"
    ),
    "--topology fred-d --workload gpt-3 --network-model aware": (
        r"fred estimate: --network-model: must be left out with --topology"
    ),
    f"{GIVEN} --network-model aware --workload w": r"w: must be the prefix of traces such as .*",
    f"{GIVEN} --network-model aware --workload {EXAMPLES}/astra-step/step": (
        r".*step\.0\.json: node 2: pg_name: must be one of the groups of --groups, not '1'|"
        r".*step\.0\.json: node 0: tensor_loc: must be that of local memory, as there is no .*"
    ),
    f"{GIVEN} --network-model aware --workload w --memory missing": r"missing: must be an exi.*",
}


@pytest.mark.parametrize("line", REFUSED)
def test_options_that_do_not_go_together_are_refused(
    line: str, refused: Callable[..., str], place: Path
) -> None:
    assert re.fullmatch(f"error: {REFUSED[line]}", refused("estimate", *line.split()))


def test_what_waits_for_ever_is_named(refused: Callable[..., str], tmp_path: Path) -> None:
    nodes = [[*read(EXAMPLES / f"astra-step/step.{rank}.json")] for rank in range(4)]
    for rank, one in enumerate(nodes):
        write(tmp_path / f"w.{rank}.et", [node for node in one if (rank, node.id) != (3, 8)])
    said = refused(*STEP[:-1], f"--workload={tmp_path / 'w'}", "--network-model=unaware")
    assert said == ("error: --workload: must end, but waits for ever: node 8 of rank 1 (comm_coll)")
