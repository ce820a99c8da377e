"""Tests of tracemodel.chakra.plane_storage: loads are asked for early, and in one order."""

from collections import Counter
from dataclasses import replace

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.storage import storage_ends
from fred_hw.wafer.tasks import Task, check_tasks
from perfmodel.topology.parse import parse_topology
from perfmodel.training.estimate import simulate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from tracemodel.chakra.iteration_traces import Traces, iteration_traces
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.plane import plane_tasks
from tracemodel.chakra.plane_storage import with_controllers

STRATEGY, NPUS, ENDS = "MP2-DP5-PP2", 20, 38
SIZES = {"planes": 5, "flit_bytes": 2, "full_flit_bytes": 512, "clock_hz": 1e9}


def traces() -> Traces:
    fabric = parse_topology("fred-d")
    workload = replace(load_workload("examples/iteration.yaml"), mode="streaming")
    found = simulate(Request.of(fabric, workload, STRATEGY))
    return iteration_traces(found)


def plane() -> Plane:
    return Plane(load_wafer("examples/wafer-20.yaml", {"controllers": "endpoints"}))


def tasks(found: Traces) -> list[list[Task]]:
    storage = storage_ends(plane(), Strategy.parse(STRATEGY), weights=True)
    return plane_tasks(found.ranks, found.groups, storage=storage, endpoints=ENDS, **SIZES)


def test_loads_and_stores_of_the_traces_are_tasks_of_both_ends() -> None:
    found = traces()
    made = tasks(found)
    check_tasks(made)
    assert len(made) == ENDS
    for nodes, own in zip(found.ranks, made[:NPUS], strict=True):
        kinds = Counter(one.type for one in nodes)
        loads = [one for one in own if one.inputs and one.inputs[0] >= NPUS]
        stores = [one for one in own if one.outputs and one.outputs[0] >= NPUS]
        asked = [one for one in stores if one.name.startswith("space for ")]
        assert len(asked) == sum(bool(one.after) for one in loads) > 0
        stores = [one for one in stores if one not in asked]
        assert len(loads) == kinds[NodeType.MEM_LOAD_NODE] > 0
        assert len(stores) == kinds[NodeType.MEM_STORE_NODE] > 0
        sizes = sorted(
            -(-one.integer("tensor_size") // (5 * 512)) * 2
            for one in nodes
            if one.type in (NodeType.MEM_LOAD_NODE, NodeType.MEM_STORE_NODE)
        )
        assert sorted(one.size for one in loads + stores) == sizes
    ends = {address for address in range(NPUS, ENDS) if made[address]}
    assert ends == {20, 24, 28, 32, 21, 25, 29, 33, 35}
    assert [one.name for one in made[20]] == [
        one.name for one in made[0] if 20 in (*one.inputs, *one.outputs)
    ]


def test_all_ends_do_what_they_share_in_one_order() -> None:
    made = tasks(traces())
    for controller in range(NPUS, ENDS):
        for npu in range(NPUS):
            both = [
                [one.name for one in made[end] if {npu, controller} <= {*one.inputs, *one.outputs}]
                for end in (npu, controller)
            ]
            assert both[0] == both[1]


def test_a_load_is_queued_before_the_compute_ahead_of_it() -> None:
    """Weights of the layer after next come while a stage is at work; nothing waits for a load."""
    for own in tasks(traces())[:NPUS]:
        storage = [n for n, one in enumerate(own) if max((*one.inputs, *one.outputs, 0)) >= NPUS]
        first = next(place for place, one in enumerate(own) if one.cycles)
        weights = [place for place in storage if own[place].name.startswith("weights")]
        assert weights[1] < first < weights[2]
        for place, one in enumerate(own):
            assert all(before < place for before in one.after)
            assert place not in storage or not {*one.after} & {*storage}
            loads = [own[n].name for n in one.after if n in storage]
            assert not loads or (one.cycles and loads[0].startswith("weights"))


def test_stores_go_ahead_of_loads_that_are_ready_with_them() -> None:
    def work(*after: int) -> Task:
        return Task(name="work", cycles=5, after=after)

    def flow(name: str, inputs: tuple[int, ...], outputs: tuple[int, ...], *after: int) -> Task:
        return Task(name=name, inputs=inputs, outputs=outputs, size=2, after=after)

    npu = [
        flow("load a", (1,), (0,)),
        work(0),
        flow("load b", (1,), (0,), 0, 1),
        work(1, 2),
        flow("store a", (0,), (1,), 1),
        work(3),
    ]
    own, controller = with_controllers([npu], 2, 2)
    rest = ["store a", "space for load b", "load b"]
    assert [one.name for one in own] == ["load a", "work", *rest, "work", "work"]
    assert [one.after for one in own] == [(), (0,), (1,), (1,), (1,), (1, 4), (5,)]
    assert [one.name for one in controller] == ["load a", *rest]
    # A controller sends when it was asked, and takes what comes at any time.
    assert [one.after for one in controller] == [(), (), (), (2,)]
    assert (own[3].inputs, own[3].outputs, own[3].size) == ((0,), (1,), 2)


def test_groups_without_a_controller_are_refused() -> None:
    found = traces()
    message = r"^node \d+ of rank 0: must be a load or a store of NPUs that have a controller .*"
    with pytest.raises(InputError) as refused:
        plane_tasks(found.ranks, found.groups, storage={}, endpoints=ENDS, **SIZES)
    said = refused.value
    assert said.field.startswith("node ") and said.message.startswith(
        "must be a load or a store of NPUs that have a controller for it, not 'input of the next"
    ), message
