"""Tests of tracemodel.astra.engine.custom: collectives that are traces of their own."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.select import build_schedule
from perfmodel.topology.parse import shared_topology
from tests.written import written
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.job import Job
from tracemodel.astra.engine.repeated import run_jobs
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.files.system import load_system
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension, Network
from tracemodel.astra.transport import NETWORK_MODELS
from tracemodel.chakra.collective import to_goal
from tracemodel.chakra.files import write
from tracemodel.chakra.goal import to_traces
from tracemodel.chakra.kinds import CollectiveType, NodeType
from tracemodel.chakra.node import Node
from tracemodel.chakra.traces import find_traces

from .nodes import collective, compute, memory, message, node, run, setup

SENDS, RECEIVES = NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE


def ring(npus: int, size: int) -> list[list[Node]]:
    """Return an all-reduce as ASTRA-sim's examples have it: send, receive, reduce, send, ..."""
    found: list[list[Node]] = []
    for place in range(npus):
        trace: list[Node] = []
        for step in range(2 * (npus - 1)):
            for kind in (SENDS, RECEIVES, NodeType.COMP_NODE)[: 3 if step < npus - 1 else 2]:
                ends = {"comm_dst": (place + 1) % npus, "comm_src": (place - 1) % npus}
                ends.pop("comm_src" if kind == SENDS else "comm_dst")
                attrs = {} if kind == NodeType.COMP_NODE else {"comm_size": size, **ends}
                number = len(trace)
                trace.append(node(number, kind, [number - 1] if number else [], **attrs))
        found.append(trace)
    return found


def custom(folder: Path, traces: Sequence[Sequence[Node]], given: Setup) -> Setup:
    """Return a setup with an all-reduce of some traces."""
    for place, one in enumerate(traces):
        write(folder / f"own.{place}.et", one)
    own = {"all_reduce_custom": [str(folder / "own")]}
    system = given.system.model_copy(update=own)
    return Setup(given.network, system, given.memory, given.groups)


@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_a_ring_of_traces_takes_its_steps(model: str, tmp_path: Path) -> None:
    network = Network([Dimension("ring", 8, 50, 500)])
    traces = ring(8, (1 << 20) // 8)
    assert {len(one) for one in traces} == {14 + 14 + 7}
    given = custom(tmp_path, traces, setup(network=network))
    # The bytes of the workload do not matter, as in ASTRA-sim.
    times, _ = run(given, *[[collective(0, 5)]] * 8, model=model)
    each_ns = 500 + (1 << 17) / network.dimensions[0].bytes_per_ns
    want = 14 * (int(each_ns) + (model == "fluid")) + 7
    assert {one.total_ns for one in times} == {want}
    assert {one.communication_ns for one in times} == {want}


@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_an_exported_multitree_takes_no_less_than_its_messages(model: str, tmp_path: Path) -> None:
    torus = shared_topology("torus:3x2")
    schedule = build_schedule(torus, "all_reduce", [range(6)], 6 * 2.0**20, "multitree")
    network = Network([Dimension("ring", 3, 50, 500), Dimension("ring", 2, 50, 500)])
    given = custom(tmp_path, to_traces(to_goal(schedule, 6)), setup(network=network))
    times, _ = run(given, *[[collective(0, 5)]] * 6, model=model)
    message_ns = 500 + 2**20 / network.dimensions[0].bytes_per_ns
    took_ns = max(one.total_ns for one in times)
    # A shard goes up a tree and down again; an NPU sends ten messages in all.
    assert 2 * int(message_ns) <= took_ns <= 10 * message_ns


def test_places_are_those_of_the_group_and_each_begins_by_itself(tmp_path: Path) -> None:
    one, other = message(0, 0, 1, 3_000)
    given = custom(tmp_path, [[one], [other]], setup(3, groups={"1": (2, 0), "2": (0, 2)}))
    trace = [collective(1, 8, pg_name="1")]
    late = [compute(0, 9), collective(1, 8, [0], pg_name="1")]
    _, spans = run(given, late, [], trace)
    assert spans[2, 1] == (0, 4_000) and spans[0, 1] == (9_000, 9_000)
    _, spans = run(given, [collective(1, 8, pg_name="2")], [], [collective(1, 8, pg_name="2")])
    assert spans[0, 1] == spans[2, 1] == (0, 4_000)


def test_messages_at_a_time_share_links_in_our_simulation(tmp_path: Path) -> None:
    pairs = [message(0, 0, 1, 3_000), message(1, 0, 2, 3_000)]
    traces = [[one for one, _ in pairs], *[[other] for _, other in pairs]]
    network = Network([Dimension("switch", 3, 1_000_000_000 / (1 << 30), 0)])
    given = custom(tmp_path, traces, setup(network=network))
    ends = [run(given, *[[collective(0, 1)]] * 3, model=model)[0] for model in ("unaware", "fluid")]
    assert [one[0].total_ns for one in ends] == [3_000, 6_000]


@pytest.mark.parametrize("late_us", [0, 5, 7])
def test_what_is_faster_than_links_is_told(late_us: int, tmp_path: Path) -> None:
    """Two messages of NPU 0 at a time take as long as one, though they share a link, or do not."""
    pairs = [message(0, 0, 1, 3_000), message(1, 0, 2, 3_000)]
    traces = [[one for one, _ in pairs], *[[other] for _, other in pairs]]
    three, two = (Dimension("switch", n, 1_000_000_000 / (1 << 30), 0) for n in (3, 2))
    for network in (Network([three]), Network([two, two])):
        given = custom(tmp_path, traces, setup(network=network, groups={"1": (0, 1, 2)}))
        one = collective(0, 1, pg_name="1")
        late = [compute(2, late_us), collective(0, 1, [2], pg_name="1")] if late_us else [one]
        nodes = [[one], late, [one], []][: network.npus]
        ranks = [trace_of(iter(each), given.system, "w") for each in nodes]
        job = Job(ranks, tuple(range(network.npus)), {"1": (0, 1, 2)}, "groups")
        found = run_jobs([job], given, "unaware").faster
        # Whoever waits for a late NPU has had the time that sending takes.
        if network.dimensions == (two, two) or late_us > 5:
            assert found is None
            continue
        assert found is not None and (found.collectives, found.of) == (1, 1)
        assert found.worst.time_ns == max(3_000, 1_000 * late_us)
        assert found.worst.injection_bound_ns == 6_000


def test_nothing_of_the_workload_takes_part(tmp_path: Path) -> None:
    own = message(0, 0, 1, 500)
    given = custom(tmp_path, [[own[0]], [own[1]]], setup())
    theirs = message(7, 0, 1, 500)  # of the same bytes and tag
    _, spans = run(given, [collective(1, 8), theirs[0]], [theirs[1], collective(9, 8)])
    assert spans[1, 9] == (0, 1_500) and spans[1, 7] == (0, 3_000)


@pytest.mark.parametrize("model", ["unaware", "fluid"])
def test_symmetry_is_left_out(model: str, tmp_path: Path) -> None:
    one, other = message(0, 0, 1, 3_000)
    given = custom(tmp_path, [[one], [other, compute(1, 8, [0])]], setup())
    traces = [trace_of(iter([collective(1, 8), compute(2, 1, [1])]), given.system, "w")] * 2
    times = GraphEngine(traces, given, model).run()
    assert [one.total_ns for one in times] == [5_000, 13_000]


@pytest.mark.parametrize("name", ["fred-d", "mesh:5x4"])
def test_messages_of_traces_go_over_a_fabric(name: str, tmp_path: Path) -> None:
    network = FluidNetwork([FabricLine(shared_topology(name))])
    plain = Setup(network, setup().system)
    pairs = [message(place, place, (place + 7) % 20, 3_000_000) for place in range(20)]
    traces = [[pairs[place][0], pairs[(place - 7) % 20][1]] for place in range(20)]
    given = custom(tmp_path, traces, plain)
    found = run(given, *[[collective(0, 1 << 20)]] * 20, model="fluid")[0]
    assert found == run(plain, *traces, model="fluid")[0]
    assert found != run(plain, *[[collective(0, 1 << 20)]] * 20, model="fluid")[0]


def waiting(other: int) -> list[Node]:
    """Return who answers another, and does not begin."""
    back = node(2, SENDS, [1], comm_dst=other, comm_size=1)
    return [node(1, RECEIVES, comm_src=other, comm_size=1), back]


PAIR = message(3, 0, 1, 8)
BAD = {
    "few": ([[]], r"own: must be traces of the 2 NPUs of the collective, not of 1"),
    "many": ([[], [], []], r"own: must be traces of the 2 NPUs of the collective, not of 3"),
    "kind": (
        [[collective(4, 8)], []],
        r"own\.0\.et: node 4: type: must be compute, a send or a receive in a .*, not comm_coll",
    ),
    "memory": ([[], [memory(4, 8)]], r"own\.1\.et: node 4: type: must be .*, not mem_load"),
    "outside": (
        [[message(3, 0, 2, 8)[0]], []],
        r"own\.0\.et: node 3: comm_dst: must be another NPU from 0 to 1, not 2",
    ),
    "lost": (
        [[PAIR[0]], []],
        r"own\.0\.et: node 3: must have its receive in rank 1; of 8 bytes with tag 5 there are .*",
    ),
    "silent": (
        [[], [PAIR[1]]],
        r"own\.1\.et: node 3: must have its send in rank 0; of 8 bytes with tag 5 there are .*",
    ),
    "cycle": (
        [[compute(1, 1, [2]), compute(2, 1, [1])], []],
        r"own\.0\.et: node: must not depend on itself: 1 -> .*",
    ),
    "waits": (
        [waiting(1), waiting(0)],
        r"workload: must end, but never does: node 0 of rank 0 \(comm_coll\), node 0 of .*",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_traces_are_a_line(what: str, tmp_path: Path) -> None:
    traces, line = BAD[what]
    given = custom(tmp_path, traces, setup())
    with pytest.raises(InputError, match=rf"{line}$"):
        run(given, *[[collective(0, 8)]] * 2, model="fluid")


def test_dimensions_are_not_left_out(tmp_path: Path) -> None:
    given = custom(tmp_path, [[], []], setup())
    line = "involved_dim: must be true for all dimensions, as traces say how it is done"
    with pytest.raises(InputError, match=rf"node 0: {line}$"):
        run(given, *[[collective(0, 8, involved_dim=(False,))]] * 2)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("all-reduce-implementation-custom: []", "all-reduce-.*: must have 1 or more entries, .*"),
        ("all-to-all-implementation-custom: [a, b]", ".*: must have at most 1 entries, not .*"),
        ("all-gather-implementation-custom: [3]", r".*\.0: must be a valid string, not 3"),
        (
            "per-node-custom-implementation: nofile.yaml",
            "per-node-custom-implementation: must be an existing file, not 'nofile.yaml'",
        ),
        ("per-node-custom-implementation: [a]", "per-node-.*: must be a valid string, not .*"),
        *[
            (
                f"{kind}-implementation-custom: [nofile]",
                rf"sys\.yaml: {kind}-.*-custom\.0: must be the prefix .* nofile\.0\.et, .* none",
            )
            for kind in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
        ],
    ],
)
def test_bad_keys_are_refused(text: str, line: str, tmp_path: Path) -> None:
    path = written(tmp_path / "sys.yaml", text)
    with pytest.raises(InputError, match=f"{line}$"):
        load_system(path)


def test_prefixes_are_read_and_must_be_there(tmp_path: Path) -> None:
    for place in range(2):
        write(tmp_path / f"own.{place}.et", [])
    path = written(tmp_path / "sys.yaml", f"reduce-scatter-implementation-custom: [{tmp_path}/own]")
    system = load_system(path)
    assert system.custom("reduce_scatter") == f"{tmp_path}/own"
    assert system.custom("broadcast") is None and system.custom("all_reduce") is None
    with pytest.raises(
        InputError, match=r": must be the prefix of traces such as b.0.et, of which"
    ):
        find_traces("a\0/b")
    given = Setup(setup().network, system)
    trace = [collective(0, 8, kind=CollectiveType.REDUCE_SCATTER)]
    assert run(given, trace, trace)[0][0].total_ns == 0
    write(tmp_path / "own.2.et", [])
    (tmp_path / "own.1.et").unlink()
    with pytest.raises(InputError, match=r"sys\.yaml: reduce-.*\.0: .*own\.1\.et: must exist"):
        load_system(path)


def of_nodes(folder: Path, text: str) -> Setup:
    """Return two NPUs whose nodes have traces of their own."""
    one, other = message(0, 0, 1, 3_000)
    for place, node_ in enumerate((one, other)):
        write(folder / f"own.{place}.et", [node_])
    (folder / "nodes.yaml").write_text(text.replace("own", str(folder / "own")))
    path = folder / "sys.yaml"
    path.write_text(
        f"{{per-node-custom-implementation: {folder}/nodes.yaml, endpoint-delay: 0, "
        "all-reduce-implementation: [ring]}"
    )
    return Setup(setup().network, load_system(path), groups={"1": (0, 1)})


@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_nodes_have_traces_of_their_own(model: str, tmp_path: Path) -> None:
    given = of_nodes(tmp_path, "7: own")
    trace = [collective(1, 3_000), collective(7, 3_000, [1]), collective(8, 3_000, [7])]
    _, spans = run(given, trace, trace, model=model)
    first = spans[1, 1][1]
    # One message of 3,000 bytes is four of them with a ring: here it is one, then again the ring.
    assert spans[1, 7] == (first, first + 4_000)
    assert spans[1, 8] == (first + 4_000, 2 * first + 4_000)


def test_a_node_of_one_rank_alone_is_no_collective(tmp_path: Path) -> None:
    given = of_nodes(tmp_path, "7: own")
    line = "per-node-custom-implementation: must be done by traces .*own, as node 7 of rank 0, not"
    with pytest.raises(InputError, match=f"node 8: {line} by an algorithm$"):
        run(given, [collective(7, 8, pg_name="1")], [collective(8, 8, pg_name="1")])
    with pytest.raises(InputError, match="must end, but never does: node 8 of rank 1 "):
        run(given, [collective(7, 8)], [collective(8, 8)])


def test_nodes_of_their_own_are_no_periods(tmp_path: Path) -> None:
    given = of_nodes(tmp_path, "50: own")
    nodes = [collective(i, 3_000, [i - 1] if i else []) for i in range(80)]
    job = Job([trace_of(iter(nodes), given.system, "w")] * 2, (0, 1))
    assert run_jobs([job], given, "fluid").left_out == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[own]", "nodes.yaml: must be a mapping of nodes to prefixes, not .*"),
        ("a: own", "nodes.yaml: nodes must be numbers from 0 up, not 'a'"),
        ("-1: own", "nodes.yaml: nodes must be numbers from 0 up, not -1"),
        ("3: 4", "nodes.yaml: 3: must be a prefix of traces, not 4"),
        ("3: nofile", "nodes.yaml: 3: must be the prefix of traces such as nofile.0.et, .* none"),
    ],
)
def test_bad_files_of_nodes_are_a_line(text: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{line}$"):
        of_nodes(tmp_path, text)
