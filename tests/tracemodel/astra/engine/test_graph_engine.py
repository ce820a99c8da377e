"""Tests of tracemodel.astra.engine: what begins when, and what never ends."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from fred_hw.errors import InputError
from fred_hw.progress import listening
from perfmodel.memory.file import MemoryFile
from tests.examples import examples
from tests.tracemodel.chakra.golden import LLAMA
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.operation import Operations, Unit
from tracemodel.astra.engine.setup import Setup, load_setup
from tracemodel.astra.engine.trace import load_traces, trace_of
from tracemodel.astra.network import Dimension, Network
from tracemodel.astra.transport import NETWORK_MODELS
from tracemodel.chakra.files import write
from tracemodel.chakra.kinds import CollectiveType, NodeType
from tracemodel.chakra.node import Attr, Node
from tracemodel.rank_times import RankTimes

from .nodes import collective, compute, memory, message, node, run, setup


def test_traces_of_a_transformer_take_as_long_as_in_astra_sim() -> None:
    """The result is that of ASTRA-sim's analytical back end without congestion."""
    files = ("network.yml", "system.json", "memory.json", "groups.json")
    given = load_setup(*(LLAMA.parent / name for name in files))
    traces = load_traces(LLAMA, given.network.npus, given.system)
    assert GraphEngine(traces, given).run() == tuple(
        RankTimes(rank, 14_195_924, 13_203_830, 2_501_076, 1_508_982, 992_094) for rank in range(4)
    )


def test_units_have_one_operation_at_a_time_the_lowest_id_first() -> None:
    trace = [
        compute(7, 2),
        compute(3, 1),
        compute(5, 4, cpu=True),
        compute(6, 1, cpu=True),
        compute(1, 1, [7]),
        collective(9, 0),
        collective(8, 0),
    ]
    times, spans = run(setup(), trace, trace)
    assert [spans[0, one] for one in (3, 7, 1)] == [(0, 1_000), (1_000, 3_000), (3_000, 4_000)]
    assert [spans[0, one] for one in (5, 6)] == [(0, 4_000), (4_000, 5_000)]
    # Two steps of 1,000 ns and the byte that a chunk has for each NPU.
    assert [spans[0, one] for one in (8, 9)] == [(0, 2_002), (2_002, 4_004)]
    assert times[0] == RankTimes(0, 5_000, 4_000, 4_004, 4_000, 1_000)


@pytest.mark.parametrize("control", [True, False])
def test_control_dependencies_count_unless_they_are_ignored(control: bool) -> None:
    """100,000 ns of compute and an all-reduce of 1 MiB on a ring of two NPUs.

    The all-reduce is two steps of 10 + floor(500 + 524,288 / 53.687) = 10,265 ns and its endpoint
    delay 10 ns once more: 2 * 10,275 + 10 = 20,560 ns. A reduction is 3 * floor(524,288 / 1600)
    = 981 ns, once: 21,541 ns, after the compute or at the same time.
    """
    network = Network([Dimension("ring", 2, 50, 500)])
    given = setup(network=network, endpoint_delay=10, local_mem_bw=1600)
    nodes = [compute(1, 100), replace(collective(2, 1 << 20), ctrl_deps=(1,))]
    found = [trace_of(iter(nodes), given.system, "w", control=control)] * 2
    times = GraphEngine(found, given).run()
    assert times[0].total_ns == (121_541 if control else 100_000)


@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_no_scheduling_policy_changes_the_order_of_collectives(model: str) -> None:
    network = Network([Dimension("ring", 2, 9, 20), Dimension("switch", 2, 3, 50)])
    # Those of a lower id go first, whatever their priority; chunks of one have the same.
    trace = [collective(one, 10**5, comm_priority=one) for one in range(3)]
    found = [
        run(
            setup(
                network=network,
                scheduling_policy=policy,
                all_reduce_implementation=["ring", "direct"],
                preferred_dataset_splits=3,
            ),
            *[trace] * 4,
            model=model,
        )
        for policy in ("LIFO", "FIFO", "EXPLICIT")
    ]
    assert found[0] == found[1] == found[2]
    ends = [found[2][1][0, one] for one in range(3)]
    assert all(before[1] == after[0] for before, after in pairwise(ends))


def test_receives_wait_beside_everything_and_sends_hold_their_unit() -> None:
    early, late = message(1, 0, 1, 500), message(2, 0, 1, 500, comm_tag=6)
    first = [early[0], late[0]]
    second = [early[1], late[1], node(3, NodeType.COMM_RECV_NODE, [2], **_ends(1, 0))]
    back = node(4, NodeType.COMM_SEND_NODE, [2], **_ends(1, 0))
    wait = node(9, NodeType.COMM_RECV_NODE, (), 0, **_ends(1, 0))
    _, spans = run(setup(), [*first, wait], [*second[:2], back])
    assert [spans[0, one] for one in (1, 2, 9)] == [(0, 1_500), (1_500, 3_000), (0, 4_009)]
    assert [spans[1, one] for one in (1, 2, 4)] == [(0, 1_500), (0, 3_000), (3_000, 4_009)]


def _ends(source: int, target: int) -> dict[str, int]:
    return {"comm_src": source, "comm_dst": target, "comm_size": 9, "comm_tag": 1}


def test_a_receive_after_its_message_ends_at_once() -> None:
    pair = message(1, 0, 1, 0)
    other = compute(0, 7)
    late = message(1, 0, 1, 0, [0])[1]
    _, spans = run(setup(), [pair[0]], [other, late])
    assert spans[0, 1] == (0, 1_000) and spans[1, 1] == (7_000, 7_000)


def test_messages_of_other_sizes_and_tags_do_not_meet() -> None:
    small, large = message(1, 0, 1, 10), message(2, 0, 1, 1_000)
    tagged = message(3, 0, 1, 10, comm_tag=8)
    sends = [large[0], tagged[0], small[0]]
    _, spans = run(setup(), sends, [small[1], large[1], tagged[1]])
    ends = {number: spans[1, number][1] for number in (1, 2, 3)}
    assert ends == {1: 1_010, 2: 3_010, 3: 4_020}  # in the order in which they were sent


def test_metadata_ends_where_it_begins() -> None:
    trace = [
        node(0, NodeType.METADATA_NODE),
        node(1, NodeType.INVALID_NODE, [0]),
        compute(2, 3, [1]),
        node(3, NodeType.METADATA_NODE, [2]),
    ]
    times, spans = run(setup(), trace, [])
    assert [spans[0, one] for one in range(4)] == [(0, 0), (0, 0), (0, 3_000), (3_000, 3_000)]
    assert times[1] == RankTimes(1, 0, 0, 0, 0, 0)


def test_compute_by_the_roofline() -> None:
    given = setup(roofline_enabled=1, peak_perf=2, local_mem_bw=100)
    trace = [
        node(0, NodeType.COMP_NODE, num_ops=4_000_000, tensor_size=1_000),  # at the peak
        node(1, NodeType.COMP_NODE, num_ops=7, tensor_size=1_000_050),  # at the memory's rate
        node(2, NodeType.COMP_NODE, num_ops=10**15, tensor_size=0),
        node(3, NodeType.COMP_NODE, num_ops=0, tensor_size=10),
        compute(4, 5, cpu=True),
    ]
    lengths = [Operations(given.system, "f").of(one).what.duration_ns for one in trace]
    assert lengths == [2_000, 10_000, 0, 0, 5_000]
    assert Operations(setup().system, "f").of(compute(1, 0)).what.duration_ns == 1


def test_replay_takes_what_the_trace_says() -> None:
    given = setup(replay_only=1)
    trace = [collective(0, 10**9), *message(1, 0, 7, 3, [0]), memory(9, 5)]
    _, spans = run(given, [trace[0], trace[1], trace[3]], [])
    assert sorted(spans.values()) == [(0, 1), (1, 2), (2, 3)]


def remote(kind: str, **others: int) -> MemoryFile:
    data = {"memory-type": kind, "remote-mem-latency": 100, "remote-mem-bw": 2.0}
    return MemoryFile.model_validate(data | {k.replace("_", "-"): v for k, v in others.items()})


@pytest.mark.parametrize(
    ("kind", "others", "ends"),
    [
        ("PER_NPU_MEMORY_EXPANSION", {}, [600, 600, 600, 600]),
        ("MEMORY_POOL", {}, [600, 1_200, 1_800, 2_400]),
        ("PER_NODE_MEMORY_EXPANSION", {"num_nodes": 2, "num_npus_per_node": 3}, [600, 1_200]),
    ],
)
def test_remote_memory_serves(kind: str, others: dict[str, int], ends: list[int]) -> None:
    trace = [memory(0, 1_001)]
    times, _ = run(setup(4, remote(kind, **others)), *[trace] * 4)
    expected = ends if len(ends) == 4 else [600, 1_200, 1_800, 600]
    assert [one.total_ns for one in times] == expected


POOL = {
    "num_remote_mem_groups": 2,
    "num_out_node_switches": 1,
    "out_node_bw": 4,
    "in_node_bw": 2,
    "num_nodes": 2,
    "num_npus_per_node": 2,
    "piece_size": 100,
}


@pytest.mark.parametrize(
    ("joined", "npus", "end"),
    [
        # 100 ns, pieces of 50 and 25 ns, and 1,000 bytes through 2 bytes per ns.
        (0, 1, 100 + 50 + 25 + 500),
        # Both of a node share 4 bytes per ns, and four of them the pool's 4.
        (0, 2, 100 + 50 + 25 + 500),
        (0, 4, None),
        (1, 4, 100 + 50 + 25 + 500),
    ],
)
def test_a_hierarchical_pool_is_shared(joined: int, npus: int, end: int | None) -> None:
    given = setup(
        4, remote("HIERARCHICAL_MEMORY_POOL", **POOL, in_switch_collectives=joined), {"1": (0, 2)}
    )
    trace = [memory(0, 1_000, pg_name="")]
    late = [compute(1, 9), memory(0, 1_000, [1], pg_name="")]
    traces = [trace if rank < npus else [] for rank in range(4)]
    times, _ = run(given, *traces)
    if end:
        assert {one.total_ns for one in times[:npus]} == {end}
    else:  # 4,000 bytes through the 4 bytes per ns of the pool
        assert all(1_000 <= one.total_ns <= 1_000 + 100 + 50 + 25 for one in times)
    if joined:  # all begin when the last is there
        assert {one.total_ns for one in run(given, *[trace] * 3, late)[0]} == {9_000 + (end or 0)}


@pytest.mark.parametrize(
    ("size", "group", "line"),
    [
        (6, "1", r"w\.1\.et: node 0: tensor_size: must be mem_load of 5 bytes, .* of 6"),
        (5, "2", r"w\.1\.et: node 0: pg_name: must be one of the groups of groups, not '2'"),
        (
            5,
            "3",
            r"w\.1\.et: must take part in 1 mem_load of 5 bytes in group 1, as rank 0 .*, not in 0",
        ),
    ],
)
def test_joint_loads_that_do_not_meet_are_refused(size: int, group: str, line: str) -> None:
    pool = remote("HIERARCHICAL_MEMORY_POOL", **POOL, in_switch_collectives=1)
    given = setup(2, pool, {"1": (0, 1), "3": (1, 0)})
    traces = [memory(0, 5, pg_name="1")], [memory(0, size, pg_name=group)]
    with pytest.raises(InputError, match=f"^{line}$"):
        run(given, *traces)


def test_local_memory_is_that_of_the_system() -> None:
    given = setup(local_mem_bw=4)
    _, spans = run(given, [memory(0, 1_002, tensor_loc=1)], [])
    assert spans[0, 0] == (0, 250)


def test_all_wait_for_the_last_of_a_group() -> None:
    given = setup(4, groups={"1": (0, 2), "2": (1,)}, endpoint_delay=3)
    late = [compute(0, 9), collective(1, 4, [0], pg_name="1")]
    times, spans = run(
        given, [collective(1, 4, pg_name="1")], [collective(5, 4, pg_name="2")], late, []
    )
    # A ring of two with 10 ns before each message and after the last, 4 bytes in one chunk. What
    # NPU 0 sent long ago is there, so NPU 2 sends its second message before NPU 0 does.
    assert spans[0, 1] == (0, 9_000 + 1_002 + 30)
    assert spans[2, 1] == (9_000, 9_000 + 2 * 1_002 + 30)
    assert spans[1, 5] == (0, 0)  # alone, so there is nothing to do
    assert times[3].total_ns == 0


def test_dimensions_that_are_left_out_do_not_take_part() -> None:
    net = Network([Dimension("ring", 2, 1e9 / (1 << 30), 0), Dimension("ring", 2, 1.0, 0)])
    given = setup(network=net, all_reduce_implementation=["ring", "ring"])
    trace = [collective(0, 4_000, involved_dim=(True, False))]
    times, _ = run(given, *[trace] * 4)
    assert [one.total_ns for one in times] == [4_000] * 4  # two steps of 2,000 bytes


def test_congestion_is_between_collectives_too() -> None:
    net = Network([Dimension("ring", 4, 1e9 / (1 << 30), 0)])
    given = setup(network=net, groups={"1": (0, 2), "2": (1, 3)})
    few, many = [collective(0, 4_000, pg_name="1")], [collective(0, 8_000, pg_name="2")]
    alone, _ = run(given, few, [], few, [], model="aware")
    both, _ = run(given, few, many, few, many, model="aware")
    free, _ = run(given, few, many, few, many)
    # Two messages of 2,000 bytes over two links, the second of which others keep for 4,000 ns.
    assert alone[0].total_ns == 2 * 4_000 + 30
    assert free[0].total_ns == 2 * 2_000 + 30
    assert both[0].total_ns > alone[0].total_ns


BAD_NODES = {
    "type": (Node(3, type=99), "node 3: must be of a type from 0 to 7, not 99"),
    "kind": (collective(3, 1, kind=CollectiveType.GATHER), "node 3: comm_type: .*, not 3"),
    "size": (collective(3, -1), "node 3: comm_size: must be an integer from 0 .*, not -1"),
    "text": (
        Node(3, type=NodeType.COMM_COLL_NODE, attrs=(Attr("comm_type", "string", "0"),)),
        "node 3: comm_type: must be an integer, not '0' of kind string",
    ),
    "cpu": (
        node(3, NodeType.COMM_COLL_NODE, is_cpu_op=True, comm_type=0, comm_size=1),
        "node 3: is_cpu_op: must be false, as it communicates",
    ),
    "missing": (
        node(3, NodeType.COMM_COLL_NODE, comm_type=0),
        "node 3: comm_size: is required and was not given",
    ),
    "dims": (
        collective(3, 1, involved_dim=2),
        "node 3: involved_dim: must be a list of booleans, not of kind int64",
    ),
    "local": (
        memory(3, 1, tensor_loc=1),
        "node 3: tensor_loc: must be remote memory without local-mem-bw in the system file, not 1",
    ),
}


@pytest.mark.parametrize("what", BAD_NODES)
def test_bad_node_is_refused(what: str) -> None:
    bad, line = BAD_NODES[what]
    with pytest.raises(InputError, match=f"^w: {line}$"):
        Operations(setup().system, "w").of(bad)


def test_compute_without_work_is_none_of_the_roofline() -> None:
    system = setup(roofline_enabled=1, peak_perf=2, local_mem_bw=100).system
    line = "tensor_size: is required with roofline-enabled of the system and was not given"
    with pytest.raises(InputError, match=f"^w: node 3: {line}$"):
        Operations(system, "w").of(compute(3, 1))


def test_trace_that_no_other_is_like_is_not_looked_at_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("tracemodel.astra.engine.trace._digest")
    for rank in range(3):
        write(tmp_path / f"w.{rank}.et", [compute(number, 1) for number in range(rank)])
    found = load_traces(tmp_path / "w", 3, setup(3).system)
    assert [len(one.nodes) for one in found] == [0, 1, 2]


def test_large_file_that_is_no_trace_is_refused_at_its_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("tracemodel.astra.engine.trace._digest")
    for rank in range(2):
        with (tmp_path / f"w.{rank}.et").open("wb") as file:
            file.truncate(1 << 31)
    with pytest.raises(InputError, match=r"w\.0\.et: byte 1: must be a node, not .* 0 bytes$"):
        load_traces(tmp_path / "w", 2, setup(2).system)


def test_nodes_that_ask_for_the_same_share_it() -> None:
    first, second = trace_of([compute(1, 2), compute(2, 2, [1])], setup().system, "w").nodes
    assert first.what is second.what
    assert (second.id, second.data_deps) == (2, (1,))


def test_there_is_a_trace_for_each_npu(tmp_path: Path) -> None:
    for rank in range(3):
        write(tmp_path / f"w.{rank}.et", [compute(1, 1)])
    given = setup(2)
    with pytest.raises(
        InputError, match=r"w: must be traces of the 2 NPUs of the network, not of 3$"
    ):
        load_traces(tmp_path / "w", 2, given.system)
    traces = load_traces(tmp_path / "w", 3, given.system)
    assert traces[0].nodes is traces[2].nodes and traces[2].source.endswith("w.2.et")
    with pytest.raises(ValueError, match=r"^traces must be 2, one for each NPU, not 3$"):
        GraphEngine(traces, given)
    (tmp_path / "w.1.et").unlink()
    with pytest.raises(InputError, match=r"w\.1\.et: must exist, as the trace of rank 2 exists"):
        load_traces(tmp_path / "w", 3, given.system)


def test_trees_take_turns_from_one_collective_to_the_next() -> None:
    given = setup(4, all_reduce_implementation=["doubleBinaryTree"])
    trace = [collective(0, 0), collective(1, 0, [0])]
    _, spans = run(given, *[trace] * 4)
    assert [spans[rank, 0][1] for rank in range(4)] == [4_016, 3_012, 4_016, 2_008]
    assert spans[0, 1][1] < spans[3, 1][1]


@st.composite
def graphs(draw: st.DrawFn) -> list[list[Node]]:
    """Draw traces of three NPUs that can end: all have the same collectives, in one chain."""
    found: list[list[Node]] = []
    calls = draw(st.lists(st.sampled_from([0, 2, 6, 7]), max_size=4))
    for _ in range(3):
        trace: list[Node] = []
        count = draw(st.integers(0, 8))
        for number in range(count):
            deps = draw(st.lists(st.integers(0, number - 1), max_size=2)) if number else []
            kind = draw(st.sampled_from([compute, compute, memory]))
            more = {"cpu": draw(st.booleans())} if kind is compute else {}
            trace.append(kind(number, draw(st.integers(0, 3)), deps, **more))
        last: Sequence[int] = draw(st.lists(st.integers(0, count - 1), max_size=1)) if count else ()
        for place, kind in enumerate(calls):
            number = 100 - place
            trace.append(collective(number, 5 * place, [*last], CollectiveType(kind)))
            last = [number]
        found.append(draw(st.permutations(trace)))
    return found


def check_run(given: Setup, traces: list[list[Node]], model: str) -> object:
    """Run traces and check that nodes begin after those they depend on, and share no unit."""
    times, spans = run(given, *traces, model=model)
    assert len(spans) == sum(map(len, traces))
    for rank, trace in enumerate(traces):
        busy: dict[Unit, list[tuple[int, int]]] = {}
        for one in trace:
            begin, end = spans[rank, one.id]
            assert all(spans[rank, parent][1] <= begin for parent in one.data_deps)
            unit = Operations(given.system, "f").of(one).what.unit
            if unit != Unit.NONE:
                busy.setdefault(unit, []).append((begin, end))
        for spans_of_unit in busy.values():
            ordered = sorted(spans_of_unit)
            assert all(a[1] <= b[0] for a, b in pairwise(ordered))
        assert times[rank].total_ns == max((spans[rank, one.id][1] for one in trace), default=0)
        together = times[rank].compute_ns + times[rank].communication_ns - times[rank].overlap_ns
        assert together <= times[rank].total_ns
    return times, spans


@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_every_node_runs_once_after_its_parents(model: str) -> None:
    given = setup(3, remote("MEMORY_POOL"))

    @examples(100)
    @drawn(graphs())
    def check(traces: list[list[Node]]) -> None:
        assert check_run(given, traces, model) == check_run(given, traces, model)

    check()


def test_whoever_listens_is_told_how_many_nodes_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracemodel.astra.engine.graph_engine._COUNTED", 2)
    told: list[tuple[str, int, int | None, int]] = []
    with listening(lambda *what: told.append(what)):
        run(setup(), [compute(one, 1) for one in range(4)], [compute(0, 9)])
    assert told == [("nodes", 2, 5, 0), ("nodes", 4, 5, 0)]
