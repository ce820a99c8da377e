"""Tests of `fred estimate`."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.training.compute import EFFICIENCY
from perfmodel.training.iteration import PARTS

Run = Callable[..., tuple[int, str, str]]


def test_estimate_says_the_same_to_a_reader(fred: Run, place: Path) -> None:
    arguments = ("estimate", "--topology", "fred-d", "--workload", "gpt-3")
    status, out, err = fred(*arguments, "--json", "--timeline", "timeline.json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    parts = said["compute_s"] + sum(said["exposed_s"].values())
    assert said["iteration_time_s"] == pytest.approx(parts, rel=1e-12)
    assert set(said["exposed_s"]) == set(PARTS[1:])
    assert (said["strategy"], said["compute_model"]) == ("MP2-DP5-PP2", "first-principles")
    assert said["memory_verdict"] == "fits if recomputed"
    events = json.loads((place / "timeline.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == set(range(20))
    status, out, err = fred(*arguments)
    assert (status, err) == (0, "")
    assert f"{said['iteration_time_s'] * 1e3:,.3f} ms" in out
    assert out.count("exposed ") == 5


def test_estimate_says_how_far_calibrated_compute_is_above_the_peak(fred: Run) -> None:
    arguments = ("estimate", "--topology", "fred-d", "--workload", "resnet-152")
    said = json.loads(fred(*arguments, "--compute", "calibrated", "--json")[1])
    assert said["peak_share"] > 1
    out = fred(*arguments, "--compute", "calibrated")[1]
    assert f"{said['peak_share']:.3g} times the peak of the NPU" in out


def test_estimate_states_no_rate_that_the_published_figure_does_not_tell(fred: Run) -> None:
    arguments = ("estimate", "--topology", "fred-d", "--workload", "transformer-1t")
    said = json.loads(fred(*arguments, "--compute", "calibrated", "--json")[1])
    assert said["peak_share"] is None
    out = fred(*arguments, "--compute", "calibrated")[1]
    assert "times the peak" not in out and re.search(r"rate of compute +not identified", out)


def test_estimate_takes_changes_of_the_workload(fred: Run) -> None:
    arguments = ("estimate", "--topology", "mesh:5x4", "--workload", "transformer-17b", "--json")
    plain = json.loads(fred(*arguments)[1])
    changed = json.loads(
        fred(
            *arguments, "--samples", "8", "--microbatches", "4", "--overlap", "--schedule", "gpipe"
        )[1]
    )
    assert (plain["minibatch"], changed["minibatch"]) == (48, 24)
    assert changed["exposed_s"]["dp"] < plain["exposed_s"]["dp"]


def test_estimate_takes_a_strategy(fred: Run) -> None:
    arguments = ("--topology", "mesh:2x2", "--workload", "resnet-152", "--strategy", "MP1-DP4-PP1")
    said = json.loads(fred("estimate", *arguments, "--json")[1])
    assert (said["topology"], said["strategy"]) == ("mesh:2x2", "MP1-DP4-PP1")


def test_npus_of_half_the_efficiency_compute_twice_as_long(fred: Run) -> None:
    line = ("estimate", "--topology", "fred-d", "--workload", "transformer-17b", "--json")
    usual = json.loads(fred(*line)[1])
    slow = [f"--npu=efficiency.{kind}={value / 2}" for kind, value in EFFICIENCY.items()]
    found = json.loads(fred(*line, *slow, "--npu=hbm_bytes_per_s=1.5e12")[1])
    assert found["busy_s"] == pytest.approx(2 * usual["busy_s"])
    assert json.loads(fred(*line, "--npu=hbm_bytes=40e9")[1])["memory"]["available_bytes"] == 40e9
