"""Tests of tracemodel.chakra.iteration_traces."""

from collections import Counter

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.parse import shared_topology
from perfmodel.training.estimate import simulate
from perfmodel.training.iteration import Iteration
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from tracemodel.chakra import iteration_traces as module
from tracemodel.chakra.feeder import Feeder
from tracemodel.chakra.iteration_traces import Traces, iteration_traces
from tracemodel.chakra.kinds import CollectiveType, NodeType
from tracemodel.chakra.partners import Partners
from tracemodel.chakra.stats import add_partners, check_node, measure


def made(name: str, strategy: str, topology: str = "fred-d") -> tuple[Traces, Iteration]:
    fabric, workload = shared_topology(topology), load_workload(name)
    found = simulate(Request.of(fabric, workload, strategy))
    return iteration_traces(found), found.iteration


STATIONARY, STREAMING = ("transformer-17b", "MP2-DP5-PP2"), ("gpt-3", "MP2-DP5-PP2")


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("name", "strategy"), [STATIONARY, STREAMING, ("resnet-152", "MP1-DP20-PP1")]
)
def test_traces_run_and_their_messages_match(name: str, strategy: str) -> None:
    traces, iteration = made(name, strategy)
    partners = Partners()
    compute_us: list[int] = []
    for rank, nodes in enumerate(traces.ranks):
        compute_us.append(measure(nodes).compute_us)
        for node in nodes:
            check_node(node)
            add_partners(partners, node, rank)
    partners.check(range(len(traces.ranks)), traces.groups)
    assert max(compute_us) == pytest.approx(iteration.busy_s * 1e6, abs=1)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "strategy"), [STATIONARY, STREAMING])
def test_all_ranks_together_come_to_an_end(name: str, strategy: str) -> None:
    """A receive waits for its send, and a collective for all of its group."""
    traces, _ = made(name, strategy)
    feeders = [Feeder(nodes) for nodes in traces.ranks]
    sent, receives = Counter[tuple[int, int, int]](), dict[tuple[int, int, int], int]()
    met: dict[tuple[int, str], list[tuple[int, int]]] = {}
    moved = True
    while moved:
        moved = False
        for rank, feeder in enumerate(feeders):
            while (node := feeder.ready()) is not None:
                moved = True
                key = (node.integer("comm_src"), node.integer("comm_dst"), node.integer("comm_tag"))
                group = node.attr("pg_name")
                if node.type == NodeType.COMM_RECV_NODE:
                    receives[key] = node.id
                elif group is not None:
                    here = met.setdefault((node.type, str(group.value)), [])
                    here.append((rank, node.id))
                    if len(here) == len(traces.groups[str(group.value)]):
                        for other, number in here:
                            feeders[other].finish(number)
                        here.clear()
                else:
                    sent[key] += node.type == NodeType.COMM_SEND_NODE
                    feeder.finish(node.id)
        for key in [key for key in receives if sent[key]]:
            feeders[key[1]].finish(receives.pop(key))
            moved = True
    assert all(feeder.done for feeder in feeders)


def test_nodes_are_the_tasks_of_their_stage() -> None:
    traces, iteration = made(*STATIONARY)
    placement = iteration.placement
    of = Counter((task.kind, task.place) for task in iteration.tasks)
    for stage in range(2):
        for npu in (npu for group in placement.mp_groups(stage) for npu in group):
            types = Counter(node.type for node in traces.ranks[npu])
            assert types[NodeType.COMP_NODE] == of["compute", stage]
            assert types[NodeType.COMM_COLL_NODE] == of["mp", stage] + of["dp", stage]
            assert types[NodeType.COMM_RECV_NODE] == of["pp", 1 - stage]
            assert types[NodeType.MEM_LOAD_NODE] == of["input_load", stage]
        senders = [group[0] for group in placement.mp_groups(stage)]
        sends = {
            npu: sum(node.type == NodeType.COMM_SEND_NODE for node in traces.ranks[npu])
            for npu in senders
        }
        assert set(sends.values()) == {2 * of["pp", stage]}  # to both NPUs of the MP group there
    groups = [tuple(sorted(g)) for s in range(2) for g in placement.mp_groups(s)]
    groups += [tuple(sorted(g)) for s in range(2) for g in placement.dp_groups(s)]
    assert sorted(map(tuple, traces.groups.values())) == sorted(groups)


def test_bytes_are_those_of_the_model() -> None:
    traces, _ = made("resnet-152", "MP1-DP20-PP1")
    parameters = sum(layer.parameters for layer in load_workload("resnet-152").network.layers)
    assert traces.groups == {"1": list(range(20))}
    for nodes in traces.ranks:
        (reduce,) = [node for node in nodes if node.type == NodeType.COMM_COLL_NODE]
        assert reduce.integer("comm_size") == 2 * parameters  # two bytes each


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("name", "strategy"), [STATIONARY, ("resnet-152", "MP1-DP20-PP1")])
def test_compute_says_its_operations_and_bytes(name: str, strategy: str) -> None:
    """A backward pass has twice the work of the forward pass; NPUs of a stage share it."""
    workload = load_workload(name)
    traces, iteration = made(name, strategy)
    placement = iteration.placement
    own = placement.strategy
    nodes = [
        node
        for stage in range(own.pp)
        for node in traces.ranks[placement.mp_groups(stage)[0][0]]
        if node.type == NodeType.COMP_NODE
    ]
    samples = workload.samples_per_replica
    operators = [one for layer in workload.network.layers for one in layer.operators]
    flops = 3 * samples * sum(one.flops for one in operators) / own.mp
    moved = sum(one.moved_numbers for one in operators) * samples
    read = sum(one.read_parameters for one in operators) * workload.microbatches
    found = sum(node.integer("num_ops") for node in nodes)
    assert found == pytest.approx(flops, rel=1e-6)
    found = sum(node.integer("tensor_size") for node in nodes)
    assert found == pytest.approx(3 * 2 * (moved + read) / own.mp, rel=1e-6)


def test_npu_that_takes_no_part_has_no_nodes() -> None:
    traces, iteration = made("transformer-17b", "MP2-DP3-PP2")
    assert {rank for rank, nodes in enumerate(traces.ranks) if nodes} == {*iteration.placement.npus}
    assert len(traces.ranks) == 20


def test_number_of_nodes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NODES", 79)
    message = r"^workload: must make at most 79 nodes of traces, not more$"
    with pytest.raises(InputError, match=message):
        made("resnet-152", "MP1-DP20-PP1")


@pytest.mark.slow
def test_collectives_of_sequence_parallelism_have_the_sizes_of_traces() -> None:
    """Of an all-gather a trace says what an NPU contributes, of others the whole vector."""
    plain, split = (made("transformer-17b", f"MP4-DP5-PP1{more}")[0] for more in ("", "-SP"))
    sizes: list[dict[int, int]] = [{}, {}]
    for traces, found in zip((plain, split), sizes, strict=True):
        for node in traces.ranks[0]:
            if node.name.startswith("forward") and node.type == NodeType.COMM_COLL_NODE:
                kind = node.integer("comm_type")
                found[kind] = found.get(kind, 0) + node.integer("comm_size")
    whole = sizes[0][CollectiveType.ALL_REDUCE]
    assert sizes[1] == {CollectiveType.REDUCE_SCATTER: whole, CollectiveType.ALL_GATHER: whole // 4}
