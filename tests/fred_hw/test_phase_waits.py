"""Tests of fred_hw.phase_waits, on meshes whose routers reduce."""

import random
from collections.abc import Sequence
from itertools import combinations

import pytest

from fred_hw import phase_waits
from fred_hw.compiler.flows import Flow
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.mesh.reducing.trees import tree_of
from fred_hw.phase_waits import PhaseFlow, phase_flow, phase_graph, successive_sets, unicasts_of
from tests.fred_hw.phases_in_flight import stuck_states

Tree = tuple[Sequence[int], Sequence[int], int]
"""Sources, destinations and root of a flow."""


def mesh_of(width: int, height: int) -> ReducingMesh:
    return ReducingMesh(ReducingMeshSpec(width=width, height=height, controllers=False, lanes=1))


def flow_of(mesh: ReducingMesh, phase: str, tree: Tree, circuit: int = 0) -> PhaseFlow:
    flow = Flow(*tree[:2])
    return phase_flow(mesh, phase, circuit, flow, tree_of(mesh, flow, tree[2]).flows)


def flows_of(mesh: ReducingMesh, *trees: Tree) -> list[PhaseFlow]:
    """Return flows, each in a phase of its own: A, B and so on."""
    return [flow_of(mesh, "ABCD"[n], tree) for n, tree in enumerate(trees)]


def unicasts(mesh: ReducingMesh) -> list[PhaseFlow]:
    return [unicasts_of(mesh, source, 0) for source in range(mesh.addresses)]


def random_trees(rng: random.Random, npus: int) -> list[Tree]:
    def ends() -> list[int]:
        return rng.sample(range(npus), rng.randint(1, min(npus, 3)))

    return [(ends(), ends(), rng.randrange(npus)) for _ in range(rng.choice((2, 2, 3)))]


ROW, SQUARE = mesh_of(5, 1), mesh_of(2, 2)
JOINS = flows_of(ROW, ((0, 4), (2,), 2), ((1, 3), (2,), 2))
"""Each flow needs two links, and they have no NPU but the destination in common."""
ORDERS = flows_of(ROW, ((1,), (0,), 0), ((0, 2), (0,), 0))
"""NPU 0 receives in A before it sends in B. Packets of B from NPU 2 can be ahead of those of A."""
SPACE = [
    flow_of(SQUARE, "A", ((1,), (2,), 3)),
    flow_of(SQUARE, "A", ((2,), (1,), 0)),
    *unicasts(SQUARE),
]
"""Flows without common links turn at two corners of a square, and unicasts at the two others."""
CASES = pytest.mark.parametrize("flows", [JOINS, ORDERS, SPACE], ids=["joins", "orders", "space"])


@CASES
def test_a_cycle_is_found_with_its_phases(flows: list[PhaseFlow]) -> None:
    graph = phase_graph(flows)
    found = list(graph.cycle())
    for one, following in zip(found, [*found[1:], *found[:1]], strict=True):
        assert graph.edges[one.wait][following.wait] == one.message
    assert len({one.wait.phase for one in found}) > 1


@pytest.mark.parametrize("flows", [JOINS, ORDERS], ids=["joins", "orders"])
def test_phases_with_a_cycle_can_be_stuck(flows: list[PhaseFlow]) -> None:
    assert stuck_states(flows, 2)[1]
    assert successive_sets(flows) == [[one] for one in flows]


@pytest.mark.parametrize(
    ("part", "flows"),
    [("_of_late", JOINS), ("_of_npu", ORDERS), ("_in_queue", SPACE)],
    ids=["joins", "orders", "space"],
)
def test_each_kind_of_wait_is_needed_to_find_its_cycle(
    part: str, flows: list[PhaseFlow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phase_waits._Flight, part, lambda *_: ())
    assert not phase_graph(flows).cycle()


def test_phases_on_two_virtual_channels_or_in_the_order_of_links_have_no_cycle() -> None:
    first, _ = ORDERS
    assert not phase_graph([first, flow_of(ROW, "B", ((0, 2), (0,), 0), circuit=1)]).cycle()
    every = (0, 1, 2, 3)
    assert not phase_graph(flows_of(SQUARE, *[(every, every, root) for root in every])).cycle()


@pytest.mark.parametrize("shape", [(2, 1), (3, 1), (2, 2)])
def test_a_tree_of_a_small_mesh_has_no_cycle_even_with_unicasts(shape: tuple[int, int]) -> None:
    mesh = mesh_of(*shape)
    sides = [one for k in range(1, mesh.npus + 1) for one in combinations(range(mesh.npus), k)]
    others = unicasts(mesh)
    for inputs in sides:
        for outputs in sides:
            for root in range(mesh.npus):
                one = flow_of(mesh, "A", (inputs, outputs, root))
                assert not phase_graph([one, *others]).cycle()


@pytest.mark.parametrize("shape", [(4, 3), (3, 5)])
def test_a_tree_alone_has_no_cycle(shape: tuple[int, int]) -> None:
    mesh, rng = mesh_of(*shape), random.Random(1)
    for _ in range(200):
        sides = [rng.sample(range(mesh.npus), rng.randint(1, mesh.npus)) for _ in range(2)]
        one = flow_of(mesh, "A", (sides[0], sides[1], rng.randrange(mesh.npus)))
        assert not phase_graph([one]).cycle()


@pytest.mark.parametrize("shape", [(2, 1), (3, 1), (2, 2)])
def test_phases_without_a_cycle_are_never_stuck(shape: tuple[int, int]) -> None:
    mesh, rng, found = mesh_of(*shape), random.Random(7), {True: 0, False: 0}
    for _ in range(150):
        flows = flows_of(mesh, *random_trees(rng, mesh.npus))
        has_cycle = bool(phase_graph(flows).cycle())
        stuck = stuck_states(flows, 3)[1]
        assert has_cycle or not stuck
        found[has_cycle] += 1
    assert min(found.values()) >= 5


def test_successive_sets_keep_the_order_and_have_no_cycle() -> None:
    rng, mesh = random.Random(3), mesh_of(3, 2)
    for _ in range(50):
        flows = flows_of(mesh, *random_trees(rng, mesh.npus))
        sets = successive_sets(flows)
        assert [one for own in sets for one in own] == flows
        assert not any(phase_graph(own).cycle() for own in sets)
