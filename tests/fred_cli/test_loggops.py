"""Tests of `fred estimate --network-model loggops`."""

import json
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from tests.fred_cli.fred import Fred
from tests.tracemodel.chakra.test_loggops import ring
from tracemodel.chakra.goal import goal_text

MODEL = ["--network-model=loggops", "--loggops=L=20", "--loggops=G=0.333"]


def test_ring_of_20_ends_when_loggopsim_says(fred: Fred, tmp_path: Path) -> None:
    path, prefix = tmp_path / "ring.goal", tmp_path / "ring"
    path.write_text(goal_text(ring(20, 1 << 30)))
    assert fred("chakra", "convert", str(path), "-o", str(prefix))[0] == 0
    for workload in (path, prefix):
        status, out, _ = fred("estimate", f"--workload={workload}", *MODEL, "--json")
        said = json.loads(out)
        assert (status, said["total_ns"]) == (0, 679_357_160)
        ends = [(one["rank"], one["total_ns"], one["compute_ns"]) for one in said["ranks"]]
        assert ends == [(k, 679_357_160, 0) for k in range(20)]
        assert said["energy"] is None and said["absent"]["energy"].startswith(
            "LogGOPS has no links"
        )
        assert said["parameters"]["G_ns_per_byte"] == 0.333


def test_ranks_that_end_together_are_a_row(fred: Fred) -> None:
    status, out, _ = fred("estimate", f"--workload={EXAMPLES}/ring-2.goal", *MODEL)
    # Two messages of 2^19 bytes, each L and G of all but the first byte, and 2 us between them.
    assert status == 0
    assert "0-1" in out
    assert f"{2 * (20 + int((2**19 - 1) * 0.333)) + 2000:,}" in out
    assert "ring-2.goal: L 20, o 0, g 0, G 0.333, O 0" in out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--workload=x.goal", "--loggops: must be given with network model loggops"),
        ("--loggops=L=1", "--workload: must be given with network model loggops"),
        ("--workload=x --loggops=o=1", "error: --loggops: L: is required and was not given"),
        ("--workload=x --loggops=L=-1", "--loggops: L: must be a number from 0 to 1e15, not -1"),
        ("--workload=x --loggops=L=yes", "--loggops: L: must be a number from 0 to 1e15"),
        ("--workload=x --loggops=l=1", "--loggops: must be one of L, o, g, G, O, not 'l'"),
        ("--workload=x --loggops=L", "--loggops: must be key=value, not 'L'"),
        (
            "--workload=x --loggops=L=1 --network=fred-d",
            "--network: must be left out with network model loggops",
        ),
        ("--workload=none.goal --loggops=L=1", "none.goal: must be an existing file"),
    ],
)
def test_what_does_not_go_with_the_model_is_refused(line: str, said: str, fred: Fred) -> None:
    status, out, error = fred("estimate", "--network-model=loggops", *line.split())
    assert (status, out) == (2, "")
    assert said in error
    assert error.count("\n") == 1


def test_parameters_are_of_that_model_alone(fred: Fred) -> None:
    status, _, error = fred("estimate", "--topology=fred-d", "--workload=gpt-3", "--loggops=L=1")
    assert status == 2
    assert "--loggops: must be left out without --network-model loggops" in error
