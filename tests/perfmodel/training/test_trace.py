"""Tests of perfmodel.training.trace, by the rules of the Chrome trace event format."""

import itertools
import json
import math
from collections import defaultdict
from functools import cache
from typing import Any

import pytest

from fred_hw.compiler.placement import Strategy
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.iteration import Iteration, simulate_iteration
from perfmodel.training.parts import PARTS
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.training.trace import chrome_trace
from perfmodel.workloads.workload import load_workload

CASES = [
    ("fred-d", "resnet-152", "MP1-DP20-PP1"),
    ("fred-d", "transformer-17b", "MP3-DP3-PP2"),
    ("mesh:5x4", "transformer-17b", "MP2-DP2-PP5"),
    ("fred-c", "gpt-3", "MP2-DP5-PP2"),
]
ALL = pytest.mark.parametrize(("topology", "workload", "strategy"), CASES)


@cache
def iteration(topology: str, workload: str, strategy: str, scale: float = 1.0) -> Iteration:
    fabric, job = shared_topology(topology), load_workload(workload)
    placed = default_placement(Request.of(fabric, job, Strategy.parse(strategy)))
    return simulate_iteration(fabric, job, placed, Npu(), scale)


def events_of(found: Iteration) -> list[dict[str, Any]]:
    """Return the events as a viewer reads them."""
    trace = json.loads(json.dumps(chrome_trace(found, "title"), allow_nan=False))
    assert trace["otherData"] == {"title": "title"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    return trace["traceEvents"]


@cache
def events(topology: str, workload: str, strategy: str) -> list[dict[str, Any]]:
    """Return the events of an iteration, which no test changes."""
    return events_of(iteration(topology, workload, strategy))


@ALL
def test_events_have_the_fields_of_their_phase(topology: str, workload: str, strategy: str) -> None:
    for event in events(topology, workload, strategy):
        assert isinstance(event["name"], str) and isinstance(event["pid"], int)
        if event["ph"] == "X":
            assert event["tid"] % len(PARTS) == PARTS.index(event["cat"])
            assert math.isfinite(event["ts"]) and event["ts"] >= 0
            assert math.isfinite(event["dur"]) and event["dur"] >= 0
        else:
            assert event["ph"] == "M"
            assert event["name"] in ("process_name", "thread_name")
            assert ("tid" in event) == (event["name"] == "thread_name")
            assert event["args"]["name"]


@ALL
def test_every_npu_has_a_name_threads_and_compute(
    topology: str, workload: str, strategy: str
) -> None:
    found = iteration(topology, workload, strategy)
    said = events(topology, workload, strategy)
    npus = set(found.placement.npus)
    assert {event["pid"] for event in said} == npus
    for npu in npus:
        own = [event for event in said if event["pid"] == npu]
        labels = {e["tid"]: e["args"]["name"] for e in own if e["name"] == "thread_name"}
        parts = [part.replace("_", " ") for part in PARTS]
        assert [labels[i] for i in range(len(PARTS))] == parts
        more = {thread: label for thread, label in labels.items() if thread >= len(PARTS)}
        for i, label in more.items():
            assert label == f"{parts[i % len(PARTS)]} {i // len(PARTS) + 1}"
        assert set(more) <= {event["tid"] for event in own if event["ph"] == "X"}
        assert sum(event["name"] == "process_name" for event in own) == 1
        assert any(event.get("cat") == "compute" for event in own)


@ALL
def test_compute_of_the_busiest_npu_is_what_is_reported(
    topology: str, workload: str, strategy: str
) -> None:
    found = iteration(topology, workload, strategy)
    busy: dict[int, float] = defaultdict(float)
    for event in events(topology, workload, strategy):
        if event.get("cat") == "compute":
            busy[event["pid"]] += event["dur"] / 1e6
    assert max(busy.values()) == pytest.approx(found.busy_s, rel=1e-9)
    for stage in range(found.placement.strategy.pp):
        own = sum(
            task.profile.time_s
            for task in found.tasks
            if task.kind == "compute" and task.place == stage
        )
        for group in found.placement.mp_groups(stage):
            for npu in group:
                assert busy[npu] == pytest.approx(own, rel=1e-9)


@ALL
def test_timeline_ends_with_the_iteration_and_repeats_every_task_per_npu(
    topology: str, workload: str, strategy: str
) -> None:
    found = iteration(topology, workload, strategy)
    tasks = [event for event in events(topology, workload, strategy) if event["ph"] == "X"]
    last = max(event["ts"] + event["dur"] for event in tasks)
    assert last / 1e6 == pytest.approx(found.time_s, rel=1e-9)
    placed = found.placement.strategy
    assert len(tasks) == len(found.tasks) * placed.mp * placed.dp


def crossings(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return pairs of events on the same thread that overlap without one inside the other."""
    threads: dict[tuple[int, int], list[tuple[float, float, str]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            span = (event["ts"], -event["ts"] - event["dur"], event["name"])
            threads[event["pid"], event["tid"]].append(span)
    found: list[tuple[str, str]] = []
    for spans in threads.values():
        open_ends: list[tuple[float, str]] = []
        for start, minus_end, name in sorted(spans):
            slack = 1e-9 * abs(minus_end)
            while open_ends and open_ends[-1][0] <= start + slack:
                open_ends.pop()
            if open_ends and -minus_end > open_ends[-1][0] + slack:
                found.append((open_ends[-1][1], name))
            open_ends.append((-minus_end, name))
    return found


@ALL
def test_events_of_a_thread_are_apart_or_nested(
    topology: str, workload: str, strategy: str
) -> None:
    # "Trace Event Format": complete events of a thread must nest; Perfetto shows others wrongly.
    assert crossings(events(topology, workload, strategy)) == []


def test_messages_that_overlap_are_on_threads_of_their_own() -> None:
    # Multicasts take longer than the compute between them, so two and more are under way.
    found = iteration("fred-d", "gpt-3", "MP2-DP5-PP2", scale=0.04)
    said = events_of(found)
    assert crossings(said) == []
    labels = {event["args"]["name"] for event in said if event["name"] == "thread_name"}
    assert {"pp", "pp 2", "weight streaming", "weight streaming 2"} <= labels
    assert "compute 2" not in labels
    named = {(e["pid"], e["tid"]) for e in said if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in said if e["ph"] == "X"} <= named


@ALL
def test_no_two_tasks_of_a_thread_are_under_way_at_once(
    topology: str, workload: str, strategy: str
) -> None:
    threads: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in events_of(iteration(topology, workload, strategy, scale=0.1)):
        if event["ph"] == "X":
            span = (event["ts"], event["ts"] + event["dur"])
            threads[event["pid"], event["tid"]].append(span)
    for spans in threads.values():
        spans.sort()
        for (_, end), (start, _) in itertools.pairwise(spans):
            assert start >= end * (1 - 1e-9)
