"""More bytes, slower links, longer latencies and more compute make no collective end sooner."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.topology.parse import shared_topology
from tests.examples import examples
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.files.system import SystemFile
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension, Network
from tracemodel.chakra.kinds import CollectiveType
from tracemodel.chakra.node import Node

from .engine.nodes import SYSTEM, collective, compute, setup

KINDS = st.sampled_from(
    [
        CollectiveType.ALL_REDUCE,
        CollectiveType.ALL_GATHER,
        CollectiveType.REDUCE_SCATTER,
        CollectiveType.ALL_TO_ALL,
        CollectiveType.BROADCAST,
        CollectiveType.REDUCE,
    ]
)
DIMENSIONS = st.lists(
    st.builds(
        Dimension,
        st.sampled_from(["ring", "switch", "fully_connected"]),
        st.sampled_from([2, 3, 4]),
        st.sampled_from([1.0, 5.0, 400.0]),
        st.sampled_from([0.0, 20.0, 500.0]),
    ),
    min_size=1,
    max_size=3,
)

EVEN = st.integers(0, 10**5).map(lambda number: 12 * number)
"""Bytes that 1 to 4 splits divide; others may be more chunks than a few bytes more are."""


def end_ns(one: Setup, traces: Sequence[Sequence[Node]], model: str) -> int:
    """Return when the last of some ranks ends."""
    found = [trace_of(iter(nodes), one.system, "w") for nodes in traces]
    return max(times.total_ns for times in GraphEngine(found, one, model).run())


def groups_end_ns(
    network: FluidNetwork,
    groups: Mapping[str, tuple[int, ...]],
    sizes: Sequence[int],
    us: Sequence[int],
    kind: CollectiveType,
) -> int:
    """Return when the last of 20 ranks ends, which compute and then do one in their group."""
    traces: list[list[Node]] = [[] for _ in range(20)]
    for (group, ranks), size in zip(groups.items(), sizes, strict=True):
        for rank in ranks:
            last = collective(2, size, [1], kind=kind, pg_name=group)
            traces[rank] = [compute(1, us[rank]), last]
    return end_ns(Setup(network, setup().system, groups=groups), traces, "fluid")


@pytest.mark.parametrize("model", ["fluid", "unaware"])
def test_more_cost_of_a_network_takes_no_less_time(model: str) -> None:
    @examples(25)
    @given(DIMENSIONS, KINDS, EVEN, st.data())
    def check(
        dimensions: list[Dimension], kind: CollectiveType, size: int, data: st.DataObject
    ) -> None:
        names = data.draw(st.lists(st.sampled_from(["ring", "direct", "direct2"]), min_size=3))
        given: dict[str, object] = {key: names[: len(dimensions)] for key in SYSTEM}
        given["preferred-dataset-splits"] = data.draw(st.integers(1, 4))
        given["active-chunks-per-dimension"] = data.draw(st.integers(1, 3))
        system = {**given, "endpoint-delay": 5, "local-mem-bw": 100.0}
        group = data.draw(st.none() | st.just(data.draw(st.permutations(range(2)))))

        def time_ns(some: Sequence[Dimension], count: int, **changes: float) -> int:
            network = Network(some)
            data = {key.replace("_", "-"): value for key, value in changes.items()}
            file = SystemFile.model_validate({**system, **data})
            groups = {"1": tuple(group)} if group else {}
            node = collective(0, count, kind=kind, pg_name="1" if group else "")
            traces = [[node] if not group or rank in group else [] for rank in range(network.npus)]
            return end_ns(Setup(network, file, groups=groups), traces, model)

        least = time_ns(dimensions, size)
        place = data.draw(st.integers(0, len(dimensions) - 1))
        one = dimensions[place]
        for worse in (
            replace(one, bandwidth=one.bandwidth * data.draw(st.sampled_from([0.3, 0.9]))),
            replace(one, latency_ns=one.latency_ns + data.draw(st.integers(1, 900))),
        ):
            others = [*dimensions[:place], worse, *dimensions[place + 1 :]]
            assert time_ns(others, size) >= least
        assert time_ns(dimensions, size + data.draw(EVEN)) >= least
        assert time_ns(dimensions, size, endpoint_delay=9) >= least
        assert time_ns(dimensions, size, local_mem_bw=30.0) >= least

    check()


@pytest.mark.parametrize("name", ["fred-a", "fred-d", "mesh:5x4"])
def test_more_cost_of_a_group_on_a_fabric_takes_no_less_time(name: str) -> None:
    network = FluidNetwork([FabricLine(shared_topology(name))])

    @examples(25)
    @given(KINDS, st.permutations(range(20)), st.integers(1, 3), st.data())
    def check(kind: CollectiveType, order: list[int], count: int, data: st.DataObject) -> None:
        groups = {str(1 + i): tuple(order[6 * i : 6 * i + 5]) for i in range(count)}
        sizes = data.draw(st.lists(st.integers(0, 10**6), min_size=count, max_size=count))
        us = data.draw(st.lists(st.integers(0, 4), min_size=20, max_size=20))
        least = groups_end_ns(network, groups, sizes, us, kind)
        bigger = data.draw(st.integers(0, count - 1))
        more = [size + 1000 * (i == bigger) for i, size in enumerate(sizes)]
        assert groups_end_ns(network, groups, more, us, kind) >= least
        if count == 1:  # of several, see the next test
            late = data.draw(st.sampled_from(groups["1"]))
            later = [one + 3 * (rank == late) for rank, one in enumerate(us)]
            assert groups_end_ns(network, groups, sizes, later, kind) >= least

    check()


def test_groups_that_share_links_may_be_done_sooner_where_one_begins_later() -> None:
    # Another group has links alone for longer then: fair shares are not the shortest schedule.
    groups = {"1": (1, 5, 16, 18, 13), "2": (4, 6, 11, 10, 19), "3": (12, 17, 9, 3, 0)}
    sizes, kind = (575_041, 508_109, 636_957), CollectiveType.ALL_GATHER
    us = [2, 4, 3, 0, 1, 3, 2, 1, 0, 3, 0, 3, 1, 2, 4, 3, 3, 3, 3, 1]
    network = FluidNetwork([FabricLine(shared_topology("mesh:5x4"))])
    later = [one + 3 * (rank == 4) for rank, one in enumerate(us)]
    ends = [groups_end_ns(network, groups, sizes, one, kind) for one in (us, later)]
    assert ends == [10_183, 9_994]


def test_links_that_serve_in_turns_may_be_done_sooner_where_messages_come_later() -> None:
    # As in ASTRA-sim: of chunks at a time, another message is the first at a link then.
    def time_ns(latency_ns: float) -> int:
        file = {"all-reduce-implementation": ["halvingDoubling"], "preferred-dataset-splits": 2}
        file |= {"active-chunks-per-dimension": 2, "endpoint-delay": 10}
        network = Network([Dimension("ring", 8, 1, latency_ns)])
        one = Setup(network, SystemFile.model_validate(file))
        return end_ns(one, [[collective(0, 1000)]] * 8, "aware")

    assert (time_ns(20), time_ns(30)) == (2_741, 2_699)


@pytest.mark.parametrize("model", ["fluid", "unaware", "aware"])
def test_a_node_that_takes_longer_may_let_a_better_one_go_first(model: str) -> None:
    def time_ns(first_us: int) -> int:
        nodes = [compute(0, first_us)]
        nodes += [compute(1, 3, [0], cpu=True), compute(2, 1, [0], cpu=True)]
        nodes += [compute(3, 2, cpu=True), compute(4, 4, [3], cpu=True), compute(5, 5, [0, 4])]
        return end_ns(setup(), [nodes, []], model)

    assert (time_ns(2), time_ns(5)) == (15_000, 11_000)
