"""Tests of fred_cli.drawings.timeline."""

from dataclasses import replace
from typing import Any

import pytest

from fred_cli.drawings import timeline as module
from fred_cli.drawings.timeline import timeline
from perfmodel.topology.parse import parse_topology
from perfmodel.training.estimate import simulate
from perfmodel.training.iteration import Iteration
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload


@pytest.fixture(scope="module")
def iteration() -> Iteration:
    return simulate(Request.of(parse_topology("fred-d"), load_workload("transformer-1t"))).iteration


def covered(lane: dict[str, Any]) -> float:
    """Return the time that at least one interval of a lane covers."""
    total, until = 0.0, 0.0
    for start, length in zip(lane["tasks"][::3], lane["tasks"][1::3], strict=True):
        total += max(0.0, start + length - max(start, until))
        until = max(until, start + length)
    return total


def test_lanes_hold_every_task_that_takes_time(iteration: Iteration) -> None:
    made = timeline(iteration)
    run = iteration.run
    long = [
        task for task, a, b in zip(iteration.tasks, run.start_s, run.end_s, strict=True) if b > a
    ]
    assert sum(len(lane["tasks"]) for lane in made["lanes"]) == 3 * len(long)
    assert set(made["names"]) == {task.name for task in long}
    assert made["end_us"] == pytest.approx(run.time_s * 1e6, abs=1e-3)
    lanes = [(lane["stage"], lane["kind"]) for lane in made["lanes"]]
    assert lanes == [(0, kind) for kind in ("compute", "weight_streaming", "input_load")]
    for lane in made["lanes"]:
        assert covered(lane) == pytest.approx(lane["busy_us"], rel=1e-4)


def test_too_many_intervals_are_joined_and_keep_ends_and_busy_times(
    iteration: Iteration, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = timeline(iteration)
    monkeypatch.setattr(module, "MOST", 100)
    joined = timeline(iteration)
    assert sum(len(lane["tasks"]) for lane in joined["lanes"]) <= 300
    assert any(name.endswith(" on") and " tasks from " in name for name in joined["names"])
    for before, after in zip(whole["lanes"], joined["lanes"], strict=True):
        assert after["busy_us"] == before["busy_us"]
        assert after["tasks"][0] == before["tasks"][0]
        ends = [lane["tasks"][-3] + lane["tasks"][-2] for lane in (before, after)]
        assert ends[0] == pytest.approx(ends[1], abs=1e-2)


def test_task_without_duration_is_left_out(iteration: Iteration) -> None:
    run = iteration.run
    short = replace(iteration, run=replace(run, end_s=(run.start_s[0], *run.end_s[1:])))
    names = [lane["tasks"] for lane in timeline(short)["lanes"]]
    assert (
        sum(map(len, names)) == sum(len(one["tasks"]) for one in timeline(iteration)["lanes"]) - 3
    )
