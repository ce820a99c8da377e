"""Tests of broadcasts in tracemodel.astra: flows in our simulation, replayed in the others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.network.run import run_collective
from perfmodel.topology.block import BlockKind
from perfmodel.topology.blocks import BlocksTopology
from perfmodel.topology.parse import shared_topology
from tests.examples import examples
from tests.tracemodel.astra.engine.nodes import collective, compute, node, run, setup
from tests.tracemodel.astra.fluid.test_flows import NETWORKS, fluid, system
from tracemodel.astra.collectives.plan import Plan, plan_of
from tracemodel.astra.engine.bound import injection_bound_ns
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.flows import Flows
from tracemodel.astra.fluid.lines import BlockLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension, Network
from tracemodel.chakra.kinds import CollectiveType, NodeType

CAST = CollectiveType.BROADCAST


def plan(
    network: Network | FluidNetwork,
    root: int = 0,
    group: tuple[int, ...] | None = None,
    splits: int = 1,
) -> Plan:
    return plan_of("broadcast", network, system(["ring"], splits), "s", group, None, root)


@examples(60)
@given(NETWORKS, st.integers(1, 10**7), st.integers(1, 4), st.data())
def test_broadcasts_are_never_faster_than_the_bound(
    network: Network, size: int, splits: int, data: st.DataObject
) -> None:
    npus = st.lists(st.integers(0, network.npus - 1), min_size=2, unique=True)
    group = data.draw(st.none() | npus.map(tuple))
    root = data.draw(st.sampled_from(group or range(network.npus)))
    one = plan(network, root, group, splits)
    flows = Flows(fluid(network), alone=False)
    found = flows.collective(one, size, one.members(root))
    assert found.time_ns >= injection_bound_ns(one, size, network)
    out = [share for link, share in found.loads if _leaves(network, link, root)]
    carried = [share * found.time_ns for share in out]
    assert sum(carried) > 0 and all(share <= 1 for _, share in found.loads)
    # The root sends everything, once to a line of each dimension at least one of which is there.
    slowest = max(one.bytes_per_ns for one in network.dimensions)
    assert sum(carried) >= size / slowest * (1 - 1e-6)


def _leaves(network: Network, link: object, npu: int) -> bool:
    assert isinstance(link, tuple)
    number, first, (source, _) = link
    return source >= 0 and first + source * network.strides[number] == npu


@pytest.mark.parametrize("kind", ["ring", "fully_connected", "switch"])
@pytest.mark.parametrize("size", [1 << 10, 1 << 20, 1 << 30])
def test_a_line_is_the_chain_of_our_own_blocks(kind: BlockKind, size: int) -> None:
    network = Network([Dimension(kind, 8, 100, 20)])
    blocks = BlocksTopology(name="b", blocks=[network.dimensions[0].block])
    want = run_collective(blocks, "broadcast", size, algorithm="ring").time_s * 1e9
    one = plan(network, 3)
    found = Flows(fluid(network)).collective(one, size, one.members(0))
    # Less the endpoint delay of 10 ns before each of seven messages, and after the last.
    assert found.time_ns - 80 == pytest.approx(want, abs=1)


def test_dimensions_follow_each_other_and_the_outer_ones_on_the_line_of_the_root_alone() -> None:
    network = Network([Dimension("switch", 4, 400, 20), Dimension("ring", 3, 50, 500)])
    one = plan(network, 6)  # at place 2 of the first dimension, and 1 of the second
    found = Flows(fluid(network), alone=False).collective(one, 1 << 30, one.members(0))
    inner, outer = ((1 << 30) / each.bytes_per_ns for each in network.dimensions)
    assert found.time_ns == pytest.approx(
        inner * (1 + 2 / 128) + outer * (1 + 1 / 128) + 3 * 40 + 2 * 500 + 40 + 30, abs=2
    )
    links = {link for link, _ in found.loads}
    assert {link for link in links if link[0] == 1} == {(1, 2, (1, 2)), (1, 2, (2, 0))}  # type: ignore[index]
    assert {link[1] for link in links if link[0] == 0} == {0, 4, 8}  # type: ignore[index]
    assert (0, 4, (2, -1)) in links and (0, 4, (-1, 2)) not in links


@pytest.mark.parametrize("name", ["fred-d", "fred-a", "mesh:5x4"])
def test_a_fabric_has_its_own_multicast(name: str) -> None:
    topology, group = shared_topology(name), (3, 5, 9, 14, 15)
    given = Setup(FluidNetwork([FabricLine(topology)]), setup().system, groups={"1": group})
    trace = [collective(0, 1 << 20, kind=CAST, pg_name="1", comm_src=14)]
    times, _ = run(given, *[trace if one in group else [] for one in range(20)], model="fluid")
    order = (14, 15, 3, 5, 9)
    want = run_collective(topology, "broadcast", 1 << 20, order, algorithm="published").time_s
    assert {times[one].total_ns for one in group} == {-int(-want * 1e9 // 1)}
    # All of it leaves the root once, whatever the others are: here they are five in FRED-D's tree.
    assert want * topology.capacities[topology.hops((14,), (15,))[0][0]] >= 1 << 20


def test_fabrics_in_a_stack_forward_what_has_come_to_them() -> None:
    topology, outer = shared_topology("fred-d"), Dimension("switch", 2, 50, 500)
    network = FluidNetwork([FabricLine(topology), BlockLine(outer)])
    one = plan(network, 25)  # NPU 5 of the second wafer
    found = Flows(network).collective(one, 1 << 20, one.members(0))
    order = [*range(5, 20), *range(5)]
    inner = run_collective(topology, "broadcast", 1 << 20, order, algorithm="published").time_s
    across = (1 << 20) / outer.bytes_per_ns + 1000 + 2 * 10
    assert found.time_ns == pytest.approx(1e9 * inner + across, abs=2)


def test_broadcasts_wait_for_all_in_ours_and_are_replayed_in_the_models_of_astra_sim() -> None:
    given = setup(4, groups={"1": (0, 2)})
    traces = [[collective(0, 1000, kind=CAST, us=7, pg_name="1")] for _ in range(2)]
    for model in ("unaware", "aware"):
        times, _ = run(given, traces[0], [], traces[1], [], model=model)
        assert [one.total_ns for one in times] == [7_000, 0, 7_000, 0]
    # 1,000 bytes at a byte per ns, 1,000 ns of latency, 10 ns before it and after.
    times, _ = run(given, traces[0], [], traces[1], [], model="fluid")
    assert [one.total_ns for one in times] == [2_020, 0, 2_020, 0]
    assert times[0].communication_ns == 2_020
    # Nothing is known to be sent where the trace gives no size.
    unsized = node(0, NodeType.COMM_COLL_NODE, us=3, comm_type=int(CAST))
    assert run(given, [unsized], [], [], [], model="fluid")[0][0].total_ns == 3_000


@pytest.mark.parametrize("group", ["", "1"])
def test_symmetry_changes_no_time(group: str) -> None:
    given = setup(4, groups={"1": (0, 1, 2, 3)})
    nodes = [collective(0, 1000, kind=CAST, comm_src=2, pg_name=group), compute(1, 5, [0])]
    traces = [trace_of(iter(nodes), given.system, "w")] * 4
    times = [GraphEngine(traces, given, "fluid", symmetry=one).run() for one in (True, False)]
    assert times[0] == times[1] and times[0][3].total_ns > 5_000


@pytest.mark.parametrize(
    ("nodes", "line"),
    [
        (({}, {"comm_src": 1}), "comm_src: must be as in node 0 of rank 0, none, not 1"),
        (
            ({"comm_src": 3}, {"comm_src": 3}),
            "comm_src: must be a rank that takes part in the broadcast, not 3",
        ),
        (({"comm_src": -1}, {}), "comm_src: must be an integer from 0 .*, not -1"),
    ],
)
def test_a_bad_root_is_refused(nodes: tuple[dict[str, Any], ...], line: str) -> None:
    given = setup(4, groups={"1": (0, 1)})
    traces = [[collective(0, 9, kind=CAST, pg_name="1", **one)] for one in nodes]
    with pytest.raises(InputError, match=f"node 0: {line}$"):
        run(given, *traces, [], [], model="fluid")


SUM = CollectiveType.REDUCE


@examples(40)
@given(NETWORKS, st.integers(1, 10**7), st.data())
def test_a_reduce_is_a_broadcast_the_other_way(
    network: Network, size: int, data: st.DataObject
) -> None:
    root = data.draw(st.integers(0, network.npus - 1))
    flows = Flows(fluid(network), alone=False)
    one = plan(network, root)
    free = system(["ring"]).model_copy(update={"local_mem_bw": None})
    back = plan_of("reduce", network, free, "s", None, None, root)
    there, found = (flows.collective(each, size, each.members(root)) for each in (one, back))
    assert found.time_ns == pytest.approx(there.time_ns, abs=1)
    assert injection_bound_ns(back, size, network) <= found.time_ns
    turned = {(*link[:2], link[2][::-1]) for link, _ in there.loads}  # type: ignore[index]
    assert {link for link, _ in found.loads} == turned


def test_sums_take_what_memory_does() -> None:
    given = setup(4, local_mem_bw=2)
    trace = [collective(0, 1000, kind=SUM, comm_dst=2)]
    # Three messages in pieces of a quarter of 128 KiB, here one, each behind a sum of 3,000 bytes
    # at 2 bytes per ns.
    (first, *_), _ = run(given, *[trace] * 4, model="fluid")
    free, _ = run(setup(4), *[trace] * 4, model="fluid")
    assert first.total_ns - free[0].total_ns == pytest.approx(1_500 * (1 + 2), rel=0.01)


@pytest.mark.parametrize("name", ["fred-d", "mesh:5x4"])
def test_a_fabric_has_its_own_reduce(name: str) -> None:
    topology, group = shared_topology(name), (3, 5, 9, 14, 15)
    given = Setup(FluidNetwork([FabricLine(topology)]), setup().system, groups={"1": group})
    trace = [collective(0, 1 << 20, kind=SUM, pg_name="1", comm_dst=9)]
    times, _ = run(given, *[trace if one in group else [] for one in range(20)], model="fluid")
    order = (9, 14, 15, 3, 5)
    want = run_collective(topology, "reduce", 1 << 20, order, algorithm="published").time_s
    assert {times[one].total_ns for one in group} == {-int(-want * 1e9 // 1)}


def test_reduces_are_replayed_in_the_models_of_astra_sim() -> None:
    trace = [collective(0, 1000, kind=SUM, us=7)]
    for model in ("unaware", "aware"):
        assert run(setup(), trace, trace, model=model)[0][0].total_ns == 7_000


@pytest.mark.parametrize("model", ["fluid", "unaware", "aware"])
def test_a_barrier_is_the_least_all_reduce(model: str) -> None:
    barrier = node(0, NodeType.COMM_COLL_NODE, comm_type=int(CollectiveType.BARRIER))
    late = [compute(1, 5), node(0, NodeType.COMM_COLL_NODE, [1], comm_type=9)]
    times, _ = run(setup(), [barrier], late, model=model)
    alone, _ = run(setup(), *[[collective(0, 1)]] * 2, model=model)
    assert min(one.total_ns for one in times) > 5_000
    assert max(one.total_ns for one in times) == 5_000 + alone[0].total_ns


def test_a_reduce_scatter_of_blocks_is_one() -> None:
    kinds = CollectiveType.REDUCE_SCATTER, CollectiveType.REDUCE_SCATTER_BLOCK
    found = [run(setup(), *[[collective(0, 5000, kind=one)]] * 2)[0] for one in kinds]
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", [CollectiveType.GATHER, CollectiveType.SCATTER])
def test_gathers_and_scatters_are_refused(kind: CollectiveType) -> None:
    line = "must be one of 0 ALL_REDUCE, 1 REDUCE, 2 ALL_GATHER, 5 BROADCAST, 6 .*, not"
    with pytest.raises(InputError, match=f"node 0: comm_type: {line} {int(kind)}$"):
        run(setup(), *[[collective(0, 8, kind=kind)]] * 2)
