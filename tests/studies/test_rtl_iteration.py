"""Tests of studies.rtl_iteration: an iteration in RTL and in the model."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fred_cli.rtl_hardware import Hardware, load_hardware
from fred_hw.errors import InputError
from fred_hw.reading import read_data
from perfmodel.training.estimate import Simulated
from studies.rtl_iteration import (
    KINDS,
    SHIPPED_ITERATIONS,
    IterationRecord,
    load_iteration,
    model_lanes,
    rtl_lanes,
    simulated,
    tasks_hash,
)
from tests.records import shipped
from tests.written import written
from tracemodel.chakra.iteration_traces import iteration_traces
from tracemodel.chakra.plane import plane_tasks

ROOT = Path(__file__).parents[2]
every = pytest.mark.parametrize("name", SHIPPED_ITERATIONS)
OFF = {"iteration-wafer-20": 0.01, "iteration-mesh-5x4": 0.03}
"""How far the model may be off at most."""

RINGS, HALVES = "ring or bidirectional_ring", "hierarchical_2d_halves"
FOUR_BY_FOUR = tuple(x + 5 * y for y in range(4) for x in range(4))

KIND_OFF = {
    "iteration-wafer-20": {"mp": 0.03, "dp": 0.03},
    "iteration-mesh-5x4": {"mp": 0.13, "dp": 0.06},
}
"""The same of the time in which a kind of task is under way, at the NPU of a stage that waits the
least. On the mesh software writes a descriptor before each of MP, which the model does not have."""


@cache
def found(name: str) -> tuple[IterationRecord, Simulated]:
    record = load_iteration(name)
    return record, simulated(record)


def hardware(record: IterationRecord) -> Hardware:
    """Return the hardware of the command that made a record."""
    words = record.command.split()
    return load_hardware(str(ROOT / words[words.index("--rtl") + 1]))


@every
def test_the_record_is_of_the_examples_and_of_the_tasks_of_today(name: str) -> None:
    """`fred records update` mends it: another model, or other files, may be other tasks."""
    record, model = found(name)
    words, fabric = record.command.split(), hardware(record)
    for option, said in (("workload", record.workload), ("rtl", record.hardware)):
        assert read_data(ROOT / words[words.index(f"--{option}") + 1]) == said
    assert record.changes == fabric.changes and record.name == fabric.name
    traces = iteration_traces(model)
    tasks = plane_tasks(
        traces.ranks,
        traces.groups,
        clock_hz=record.clock.hz,
        planes=fabric.planes,
        flit_bytes=fabric.flit_bytes,
        full_flit_bytes=fabric.full_flit_bytes,
    )
    assert tasks_hash(tasks) == record.tasks_sha256
    assert [len(one) for one in record.npus] == [len(one) for one in tasks]
    for own, spans in zip(tasks, record.npus, strict=True):
        for task, (_, kind, begin, end) in zip(own, spans, strict=True):
            assert (kind == 0) == (task.cycles > 0)
            if task.cycles:  # steps of the driver before and behind
                assert task.cycles <= end - begin <= task.cycles + 3


@every
def test_the_model_is_as_close_as_the_pages_say(name: str) -> None:
    record, found_now = found(name)
    iteration = found_now.iteration
    assert abs(iteration.time_s / record.time_s - 1) <= OFF[name]
    model = model_lanes(iteration)
    rtl = rtl_lanes(record, {npu: lane.stage for npu, lane in model.items()})
    assert sorted(rtl) == sorted(model) == list(range(20))
    for npu, lane in rtl.items():
        assert max(span.end_s for span in lane.spans) <= record.time_s * (1 + 1e-12)
        for kind in KINDS:
            assert (lane.busy_s(kind) > 0) == (model[npu].busy_s(kind) > 0), (npu, kind)
        assert lane.busy_s("compute") == pytest.approx(model[npu].busy_s("compute"), rel=0.01)
    for kind, off in KIND_OFF[name].items():
        for stage in {lane.stage for lane in rtl.values()}:
            own = [npu for npu, lane in rtl.items() if lane.stage == stage]
            least_s = min(rtl[npu].busy_s(kind) for npu in own)
            assert model[own[0]].busy_s(kind) == pytest.approx(least_s, rel=off), (kind, stage)


@every
def test_hardware_does_the_algorithm_that_was_estimated(name: str) -> None:
    record, model = found(name)
    topology, iteration = model.request.topology, model.iteration
    groups = [*iteration.placement.mp_groups(0), *iteration.placement.dp_groups(0)]
    does = hardware(record).algorithm(topology, groups, record.algorithm)
    assert (
        does
        == {"iteration-wafer-20": "in_network", "iteration-mesh-5x4": "bidirectional_ring"}[name]
    )


@pytest.mark.parametrize(
    ("name", "group", "asked", "allowed"),
    [
        ("iteration-wafer-20", (0, 1), "ring", "in_network"),
        ("iteration-wafer-20", (0, 1), "auto", "in_network"),
        ("iteration-mesh-5x4", (0, 1), "halving_doubling", RINGS),
        ("iteration-mesh-5x4", (0, 1, 5, 6), HALVES, RINGS),
        ("iteration-mesh-5x4", FOUR_BY_FOUR, "halving_doubling", f"{RINGS} or {HALVES}"),
    ],
)
def test_another_algorithm_than_that_of_the_hardware_is_refused(
    name: str, group: tuple[int, ...], asked: str, allowed: str
) -> None:
    record, model = found(name)
    topology = model.request.topology
    with pytest.raises(InputError) as error:
        hardware(record).algorithm(topology, [group], asked)
    words = hardware(record).words
    assert str(error.value) == f"--algorithm: must be {allowed} on {words} with --rtl, not {asked}"


def test_a_topology_with_other_ports_to_read_than_the_hardware_is_refused() -> None:
    record, model = found("iteration-mesh-5x4")
    topology = model.request.topology
    fabric = hardware(record)
    fabric.check(topology)
    with pytest.raises(InputError) as caught:
        replace(fabric, read_ports=2).check(topology)
    assert str(caught.value).startswith(
        "--rtl: must have endpoint.read_ports 1, as the endpoint_record of "
    )
    assert str(caught.value).endswith(", not 2")


def test_rows_and_columns_are_done_in_halves() -> None:
    record, model = found("iteration-mesh-5x4")
    topology = model.request.topology
    does = hardware(record).algorithm(topology, [FOUR_BY_FOUR, range(20)], HALVES)
    assert does == "hierarchical_2d_halves"


def test_groups_that_take_several_algorithms_are_refused() -> None:
    record, model = found("iteration-mesh-5x4")
    topology = model.request.topology
    with pytest.raises(InputError, match=r"not published \(hierarchical_2d, ring\)$"):
        hardware(record).algorithm(topology, [(0, 1), range(20)], "published")


@pytest.mark.parametrize(
    ("names", "kind", "late"), [(0, 0, 1), (0, 99, 0), (1, 0, 0)], ids=["end", "kind", "name"]
)
def test_spans_that_cannot_be_are_refused(tmp_path: Path, names: int, kind: int, late: int) -> None:
    data = shipped(SHIPPED_ITERATIONS[0])
    name = names * (len(data["names"]) + 300)
    data["npus"][3][0] = [name, kind, 5, data["cycles"] + late]
    written(tmp_path / "record.json", data)
    with pytest.raises(InputError) as error:
        load_iteration(tmp_path / "record.json")
    assert re.search(
        rf"npus\.3 must have spans .* not \[{name}, {kind}, 5, \d+\]", str(error.value)
    )
