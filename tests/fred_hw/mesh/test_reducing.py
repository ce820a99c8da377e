"""Tests of fred_hw.mesh.reducing: routers, X-Y routes, and trees of flows."""

import random
from collections import Counter
from itertools import permutations

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.fabric_plan import End
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.mesh.reducing.trees import find_trees, router_paths, tree_of
from testbench.models.golden import walk
from testbench.models.golden_plane import walk_units
from testbench.stimulus.traffic import random_flows

MESHES = {
    shape: ReducingMesh(
        ReducingMeshSpec(width=shape[0], height=shape[1], controllers=False, lanes=1)
    )
    for shape in ((2, 2), (3, 3), (4, 2), (1, 4))
}
EACH = pytest.mark.parametrize("mesh", MESHES.values(), ids=lambda mesh: mesh.mesh.shape_name)


def arrived(mesh: ReducingMesh, flows: list[Flow], roots: list[int]) -> dict[int, frozenset[int]]:
    """Return the inputs that each NPU receives."""
    trees = [tree_of(mesh, flow, root) for flow, root in zip(flows, roots, strict=True)]
    sent = {npu: frozenset({npu}) for flow in flows for npu in flow.inputs}
    configurations = router_paths(mesh, trees).configurations
    return walk_units(
        mesh, configurations, sent, lambda _, one, values: walk(one, values, frozenset.union)
    )


def test_routers_are_switches_with_the_ports_of_their_place() -> None:
    mesh = MESHES[3, 3]
    assert [one.spec.ports for one in mesh.units] == [3, 4, 3, 4, 5, 4, 3, 4, 3]
    assert {one.spec.shape for one in mesh.units} == {f"crossbar_p{n}" for n in (3, 4, 5)}
    assert mesh.mesh.name == "reducing_mesh_3x3_no_io_fp16x1_link"
    assert len({one.spec.digest for one in mesh.units}) == 1


@EACH
def test_unicasts_follow_the_routes_of_a_mesh_whatever_the_source(mesh: ReducingMesh) -> None:
    for source, destination in permutations(range(mesh.addresses), 2):
        links = mesh.mesh.plan.route(source, destination)
        assert mesh.route(source, destination) == links
        for link in links[1:]:
            assert mesh.port_for(link.number, destination) == link.port


@EACH
def test_flow_brings_the_sum_of_its_inputs_to_its_outputs_from_any_root(mesh: ReducingMesh) -> None:
    rng, npus = random.Random(1), range(mesh.npus)
    flows = [Flow(npus, npus), Flow([0], npus), Flow(npus, [mesh.npus - 1])]
    flows += [random_flows(rng, mesh.npus)[0] for _ in range(4)]
    for flow in flows:
        for root in npus:
            wanted = dict.fromkeys(flow.outputs, frozenset(flow.inputs))
            assert arrived(mesh, [flow], [root]) == wanted


@EACH
def test_links_to_the_root_are_not_links_from_it(mesh: ReducingMesh) -> None:
    every = Flow(range(mesh.npus), range(mesh.npus))
    for root in range(mesh.npus):
        tree = tree_of(mesh, every, root)
        used = Counter(
            End("unit", unit, port)
            for unit, own in tree.flows.items()
            for flow in own
            for port in flow.outputs
            if mesh.units[unit].ends[port].kind == "unit"
        )
        assert set(used.values()) == {1}
        assert used.keys() == tree.links(mesh)
        assert len(used) == 2 * (mesh.npus - 1)


@EACH
def test_found_trees_share_no_link_and_deliver_all_flows(mesh: ReducingMesh) -> None:
    rng, found = random.Random(2), 0
    for _ in range(40):
        flows = random_flows(rng, mesh.npus)
        trees = find_trees(mesh, flows)
        if trees is None:
            continue
        found += 1
        links = [tree.links(mesh) for tree in trees]
        assert len(frozenset().union(*links)) == sum(map(len, links))
        wanted = {npu: frozenset(flow.inputs) for flow in flows for npu in flow.outputs}
        assert arrived(mesh, flows, [tree.root for tree in trees]) == wanted
    assert found


def test_flows_that_need_one_link_have_no_trees() -> None:
    row = ReducingMesh(ReducingMeshSpec(width=4, height=1, controllers=False, lanes=1))
    crossing = [Flow([0], [2]), Flow([1], [3])]  # both use the link from 1 to 2
    assert find_trees(row, crossing) is None
    assert find_trees(row, [Flow([0], [1]), Flow([1], [3])]) is not None
    opposite = find_trees(row, [Flow([0], [3]), Flow([3], [0])])
    assert opposite is not None


def test_search_finds_trees_that_the_first_roots_do_not_have() -> None:
    # A root in the upper row leaves the lower row to the other flow.
    mesh = MESHES[4, 2]
    flows = [Flow([0, 7], [0, 7]), Flow([4], [6])]
    trees = find_trees(mesh, flows)
    assert trees is not None
    assert trees[0].root < 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"routing": "odd_even"}, "routing: must be xy where routers reduce"),
        ({"width": 3, "wrap": True, "routing": "dateline"}, "routing: must be xy where routers"),
    ],
)
def test_other_routes_are_refused(changes: dict[str, object], message: str) -> None:
    fields = {"width": 4, "height": 4, "controllers": False, **changes}
    with pytest.raises(ValueError, match=message):
        ReducingMeshSpec.model_validate(fields)
