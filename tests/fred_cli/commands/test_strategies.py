"""Tests of `fred strategies`, and what it shares with `fred compare`."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_cli import progress
from fred_hw.compiler.placement import Strategy
from tests.fred_cli.fred import Fred


def test_strategies_are_listed_written_and_drawn(fred: Fred, place: Path) -> None:
    arguments = ("strategies", "--workload", "own.yaml", "--topology", "mesh:2x2", "--samples", "4")
    said = fred.json(*arguments, "--csv", "all.csv", "--chart", "all.html")["rows"]
    times = [row["time_per_sample_s"] for row in said]
    assert times == sorted(times)
    with (place / "all.csv").open() as file:
        assert [row["strategy"] for row in csv.DictReader(file)] == [r["strategy"] for r in said]
    page = (place / "all.html").read_text(encoding="utf-8")
    assert "chart-strategies" in page and "https://cdn" not in page.split("</script>")[-1]
    out = fred.out(*arguments)
    assert [line.split()[0] for line in out.splitlines() if "MP" in line.split("mesh")[0]] == [
        row["strategy"] for row in said
    ]


@pytest.mark.slow
def test_what_does_not_fit_is_marked_and_comes_last(fred: Fred, place: Path) -> None:
    arguments = ("strategies", "--workload", "transformer-17b", "--topology", "fred-d")
    arguments += ("--samples", "40", "--least-npus", "20", "--csv", "all.csv")
    said = fred.json(*arguments)["rows"]
    fits = [row["fits"] for row in said]
    assert fits == sorted(fits, reverse=True) and not all(fits)
    assert fits == [row["memory_verdict"].startswith("fits") for row in said]
    with (place / "all.csv").open() as file:
        assert [row["strategy"] for row in csv.DictReader(file)] == [r["strategy"] for r in said]
    out = fred(*arguments)[1]
    lines = [line.split() for line in out.splitlines() if line.startswith("  MP")]
    assert [(line[0], line[1] == "*") for line in lines] == [
        (row["strategy"], not row["fits"]) for row in said
    ]
    assert "\n* does not fit the memory, not even with activations recomputed\n" in out
    few = fred("strategies", "--workload", "own.yaml", "--topology", "mesh:2x2")[1]
    assert "*" not in few


@pytest.mark.slow
def test_best_strategies_are_the_first_rows(fred: Fred) -> None:
    arguments = ("strategies", "--workload", "transformer-17b", "--topology", "fred-d")
    rows = fred.json(*arguments)["rows"]
    assert all(row["minibatch"] == 16 * Strategy.parse(row["strategy"]).dp for row in rows)
    assert fred.json(*arguments, "--best", "2")["rows"] == rows[:2]
    assert fred(*arguments, "--best", "0")[::2] == (2, "error: --best: must be 1 or more, not 0\n")


@pytest.mark.parametrize("command", ["compare", "strategies"])
def test_tables_say_which_compute_is_above_the_peak(fred: Fred, command: str) -> None:
    arguments = (command, "--topology", "fred-d", "--workload", "resnet-152")
    assert "above the peak" not in fred(*arguments)[1]
    out = fred(*arguments, "--compute", "calibrated")[1]
    assert re.search(r"^compute above the peak of the NPU, times: resnet-152 \d", out, re.MULTILINE)


def test_tables_say_which_compute_is_not_identified(fred: Fred) -> None:
    arguments = ("compare", "--topology", "fred-d", "--workload", "transformer-1t")
    out = fred(*arguments, "--compute", "calibrated")[1]
    assert "compute not identified: transformer-1t;" in out and "above the peak" not in out


def test_progress_is_shown_on_standard_error_alone(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_QUIET_S", 0.0)
    arguments = ("--workload", "own.yaml", "--topology", "mesh:2x2", "--samples", "4", "--json")
    status, out, err = fred("strategies", *arguments)
    assert status == 0
    assert isinstance(json.loads(out), dict)
    assert re.fullmatch(r"estimating strategies \.\.\.\nestimating strategies: \d+ s\n", err), err


def test_experts_and_sequences_are_tried_too(fred: Fred) -> None:
    arguments = ("strategies", "--workload", "mixtral-8x7b", "--topology", "mesh:4x2")
    more = ("--samples", "1", "--least-npus", "8", "--ep", "8", "--ep", "1", "--cp", "2", "--sp")
    rows = fred.json(*arguments, *more)["rows"]
    names = {row["strategy"] for row in rows}
    assert {"MP2-DP1-PP2-CP2-SP", "MP2-DP1-PP2-CP2", "MP1-DP4-PP1-CP2"} <= names
    assert all("CP2" in name for name in names) and not any("EP" in name for name in names)
    status, out, _ = fred(*arguments, "--samples", "1", "--ep", "8", "--least-npus", "8")
    assert status == 0 and " ep " in out and " cp " not in out
    assert [line.split()[0] for line in out.splitlines() if "MP" in line] == ["MP1-DP8-PP1-EP8"]


NONE_LEFT = (
    "--least-npus: must leave a strategy that goes with mixtral-8x7b and the CP and EP given"
)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--ep 0", "--ep: must be 1 to 4096, not 0"),
        ("--cp 5000", "--cp: must be 1 to 4096, not 5000"),
        ("--ep 3", NONE_LEFT),
        ("--cp 7 --ep 3", NONE_LEFT),
    ],
)
def test_expert_groups_that_do_not_go_are_refused(
    refused: Callable[..., str], options: str, said: str
) -> None:
    found = refused("strategies", "--workload", "mixtral-8x7b", *options.split())
    assert re.fullmatch(f"error: {said}", found), found
