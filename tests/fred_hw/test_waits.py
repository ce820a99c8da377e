"""Tests of fred_hw.waits."""

from typing import Any

import pytest

from fred_hw.fabric_plan import FabricPlan
from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.waits import Dependency, WaitGraph, wait_graph
from testbench.stimulus.meshes import with_routing
from tests.fred_hw.fabric_plans import PLANS, TORUS, EitherOutput, OneChannel

each = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def mesh(routing: str) -> FabricPlan[Any]:
    return with_routing(MeshSpec(width=5, height=4, lanes=1, controllers=False), routing).plan


def closed(graph: WaitGraph) -> list[Dependency]:
    """Return the cycle of a graph, after a check that each of its waits needs the next."""
    found = list(graph.cycle())
    for one, following in zip(found, [*found[1:], *found[:1]], strict=True):
        assert graph.edges[one.wait][following.wait] == one.message
    return found


@each
def test_no_plan_has_a_cycle(plan: FabricPlan[Any]) -> None:
    graph = wait_graph(plan)
    assert graph.counts.keys() == {"link queue", "send", "ack"}
    assert graph.counts["send"] == graph.counts["ack"] == plan.addresses
    assert closed(graph) == []


@pytest.mark.parametrize("routing", ROUTINGS)
def test_no_routing_has_a_cycle(routing: str) -> None:
    assert closed(wait_graph(mesh(routing))) == []


@pytest.mark.parametrize(
    "size", [{}, {"width": 3}, {"height": 1}], ids=["4 x 4", "3 x 4", "ring of 4"]
)
def test_a_torus_without_a_dateline_has_a_cycle(size: dict[str, int]) -> None:
    torus = TORUS.with_changes(**size)
    nodes = wait_graph(torus.plan).edges
    assert {one.channel for one in nodes if one.kind == "link queue"} == {0, 1}
    with ROUTINGS.lending("one channel", OneChannel()):
        found = closed(wait_graph(torus.with_changes(routing="one channel").plan))
    assert {one.wait.kind for one in found} == {"link queue"}


def test_an_unknown_acceptance_is_refused() -> None:
    message = "^wait_graph acceptance must be one of bounded, endless, not 'never'"
    with pytest.raises(ValueError, match=message):
        wait_graph(mesh("xy"), "never")


def test_all_links_of_a_mesh_are_there() -> None:
    links = 2 * (4 * 4 + 5 * 3) + 2 * 20  # between routers, and of NPUs
    assert wait_graph(mesh("xy")).counts["link queue"] == links


def test_turns_that_close_a_circle_are_found() -> None:
    with ROUTINGS.lending("either", EitherOutput()):
        found = closed(wait_graph(mesh("either")))
    assert {one.wait.kind for one in found} == {"link queue"}
    assert len(found) >= 4


@each
def test_links_held_without_end_close_a_circle_through_endpoints(plan: FabricPlan[Any]) -> None:
    kinds = [one.wait.kind for one in closed(wait_graph(plan, acceptance="endless"))]
    assert kinds.count("receive queue") == kinds.count("send") >= 2


def test_a_plane_waits_for_any_link_to_the_next_switch() -> None:
    plan = PLANS["wafer"]
    first, last = 0, plan.npus - 1
    assert {*FabricPlan.hops(plan, first, last)} < {*plan.hops(first, last)}
