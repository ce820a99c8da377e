"""Tests of tracemodel.astra.fluid: collectives and messages as flows."""

from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.collectives.schedule import Pattern
from perfmodel.network.fluid.sharing import SharedFlow
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import shared_topology
from tests.examples import examples
from tracemodel.astra.collectives.ends import collective_ends
from tracemodel.astra.collectives.plan import plan_of
from tracemodel.astra.engine.bound import injection_bound_ns
from tracemodel.astra.files.system import COLLECTIVES, SystemFile
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.flows import Flows
from tracemodel.astra.fluid.lines import BlockLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension, Network

ALGORITHMS = ("ring", "direct", "direct2", "halvingDoubling", "doubleBinaryTree")
KINDS = cast("tuple[Pattern, ...]", COLLECTIVES)


def system(names: Sequence[str], splits: int = 1, active: int = 1, memory: int = 900) -> SystemFile:
    data: dict[str, object] = {
        f"{kind.replace('_', '-')}-implementation": list(names) for kind in KINDS
    }
    data |= {"preferred-dataset-splits": splits, "active-chunks-per-dimension": active}
    data |= {"collective-optimization": "localBWAware", "local-mem-bw": memory}
    return SystemFile.model_validate(data)


def fluid(network: Network) -> FluidNetwork:
    return FluidNetwork([BlockLine(one) for one in network.dimensions])


def flow(
    kind: Pattern,
    size: int,
    network: Network,
    given: SystemFile,
    group: tuple[int, ...] | None = None,
    symmetry: bool = True,
    alone: bool = True,
) -> SharedFlow:
    plan = plan_of(kind, network, given, "s", group)
    flows = Flows(fluid(network), alone=alone, symmetry=symmetry)
    return flows.collective(plan, size, plan.members(group[0] if group else 0))


DIMENSIONS = st.builds(
    Dimension,
    st.sampled_from(["ring", "fully_connected", "switch"]),
    st.integers(2, 5),
    st.sampled_from([50.0, 400.0, 75.5]),
    st.sampled_from([0.0, 20.5, 500.0]),
)
NETWORKS = st.lists(DIMENSIONS, min_size=1, max_size=3).map(Network)


@examples(80)
@given(
    NETWORKS,
    st.sampled_from(KINDS),
    st.lists(st.sampled_from(ALGORITHMS), min_size=3, max_size=3),
    st.integers(0, 10**7),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_collectives_are_never_faster_than_the_bound_and_as_long_without_symmetry(
    network: Network, kind: Pattern, names: list[str], size: int, splits: int, active: int
) -> None:
    given = system(names[: len(network.sizes)], splits, active)
    try:
        plan = plan_of(kind, network, given, "s")
    except InputError:
        assume(False)
        raise
    found = flow(kind, size, network, given)
    assert found.time_ns >= injection_bound_ns(plan, size, network) - 1
    other = flow(kind, size, network, given, symmetry=False)
    assert abs(found.time_ns - other.time_ns) <= 1
    # With others on the network every link is known, and carries as much either way.
    shared, every = (
        flow(kind, size, network, given, symmetry=one, alone=False) for one in (True, False)
    )
    assert {link for link, _ in shared.loads} == {link for link, _ in every.loads}
    loads = dict(every.loads)
    for link, share in shared.loads:
        assert share == pytest.approx(loads[link], rel=1e-3) and share <= 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [("ring", "ring"), ("halvingDoubling", "ring")])
def test_what_shares_no_link_takes_as_long_as_without_congestion(
    kind: Pattern, names: tuple[str, str]
) -> None:
    if kind == "all_to_all":
        names = "ring", "ring"
    network = Network([Dimension("switch", 4, 400, 20), Dimension("switch", 5, 50, 500)])
    given = system(names, splits=3)
    (want,) = {*collective_ends(kind, 3 << 20, network, given).values()}
    assert 0 <= flow(kind, 3 << 20, network, given).time_ns - want <= 100  # nanoseconds cut off


@pytest.mark.parametrize("kind", KINDS)
def test_an_npu_alone_takes_no_time_and_loads_no_link(kind: Pattern) -> None:
    network, given = Network([Dimension("ring", 4, 100, 10)]), system(["ring"])
    plan = plan_of(kind, network, given, "s", (2,))
    flows = Flows(fluid(network))
    assert flows.collective(plan, 4_000, (2,)) == SharedFlow(0.0)
    assert flows.carried(plan, 4_000, (2,)) == {}


def test_a_direct_all_reduce_waits_for_its_links() -> None:
    network = Network([Dimension("switch", 64, 50, 500)])
    given = system(["direct"], splits=4, memory=10**9)
    assert min(collective_ends("all_reduce", 1 << 30, network, given).values()) < 700_000
    time_ns = flow("all_reduce", 1 << 30, network, given).time_ns
    sending_ns = 2 * 63 / 64 * 1e9 / 50
    assert 0 < time_ns - sending_ns < 10_000


def test_a_group_is_one_ring_on_the_ways_between_its_members() -> None:
    network = Network([Dimension("ring", 8, 100, 10)])
    bytes_per_ns = network.dimensions[0].bytes_per_ns
    found = flow("all_reduce", 4000, network, system(["ring"], memory=10**9), (0, 2, 4, 6))
    # Six steps of 1000 bytes over two links each way round, seven delays of 10 ns.
    assert found.time_ns == pytest.approx(6 * (1000 / bytes_per_ns + 20) + 70, abs=1)
    assert {link[2] for link, _ in found.loads} == {(i, (i + 1) % 8) for i in range(8)}  # type: ignore[index]


def test_messages_cross_every_dimension_at_the_rate_of_the_slowest() -> None:
    network = Network([Dimension("ring", 4, 100, 10), Dimension("switch", 2, 50, 300)])
    found = Flows(fluid(network)).message(0, 6, 10**6)
    slow = network.dimensions[1].bytes_per_ns
    assert found.time_ns == pytest.approx(2 * 10 + 2 * 300 + 1e6 / slow)
    shares = [share for _, share in found.loads]
    assert len(shares) == 4 and sorted(shares) == pytest.approx(
        [1e6 / slow / 2 / found.time_ns] * 2 + [1e6 / slow / found.time_ns] * 2
    )
    assert Flows(fluid(network)).message(0, 1, 0).loads == ()


@pytest.mark.parametrize("name", ["fred-d", "fred-a", "mesh:5x4"])
@pytest.mark.parametrize("kind", KINDS)
def test_on_a_fabric_collectives_are_those_of_the_fabric(name: str, kind: Pattern) -> None:
    topology, members = shared_topology(name), (0, 1, 2, 7, 8, 9)
    network = FluidNetwork([FabricLine(topology)])
    plan = plan_of(kind, network, system(["ring"]), "s", members)
    found = Flows(network).collective(plan, 1 << 20, members)
    whole = (6 if kind == "all_gather" else 1) << 20
    want = run_collective(topology, kind, whole, members, algorithm="published")
    assert found.time_ns == pytest.approx(1e9 * want.time_s)
    carried = {
        topology.link_name(link[2] if isinstance(link, tuple) else 0) for link, _ in found.loads
    }
    assert carried == {one.link for one in want.links}


def test_fabrics_stack_under_switches() -> None:
    topology = shared_topology("fred-d")
    outer = Dimension("switch", 2, 50, 500)
    network = FluidNetwork([FabricLine(topology), BlockLine(outer)])
    given = system(["ring", "ring"], memory=10**12)
    plan = plan_of("all_reduce", network, given, "s")
    time_ns = Flows(network).collective(plan, 1 << 20, plan.members(0)).time_ns
    inner = [
        run_collective(topology, kind, size, algorithm="published").time_s * 1e9
        for kind, size in (("reduce_scatter", 1 << 20), ("all_gather", (1 << 20) // 20 * 20))
    ]
    across = 2 * ((1 << 20) // 20 // 2 / outer.bytes_per_ns + 1000) + 3 * 10
    assert time_ns == pytest.approx(sum(inner) + across, abs=3)
    # A group inside one wafer is done by it, and a message crosses both.
    plan = plan_of("all_reduce", network, given, "s", (21, 22, 30))
    alone = run_collective(topology, "all_reduce", 9999, (1, 2, 10), algorithm="published")
    one = Flows(network).collective(plan, 9999, (21, 22, 30))
    assert one.time_ns == pytest.approx(1e9 * alone.time_s)
    assert {link[0] for link, _ in Flows(network).message(1, 22, 9).loads} == {0, 1}  # type: ignore[index]
