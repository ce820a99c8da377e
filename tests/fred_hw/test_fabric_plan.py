"""Tests of fred_hw.fabric_plan: what holds for every plan, and figures by hand."""

from itertools import product
from typing import Any

import pytest

from fred_hw.fabric_plan import End, FabricPlan, Joint
from fred_hw.mesh.plan import MeshPlan
from fred_hw.mesh.spec import MeshSpec
from tests.fred_hw.fabric_plans import links_in_order
from tests.fred_hw.wafer.test_plane import plane

ROW = MeshSpec(width=3, height=1, lanes=1)
TORUS = MeshSpec(width=4, height=4, lanes=1, wrap=True, controllers=False, routing="dateline")
PLANS: dict[str, FabricPlan[Any]] = {
    "wafer": plane("wafer-20"),
    "narrow wafer": plane("wafer-20-narrow"),
    "three levels": plane("three levels"),
    "mesh": MeshSpec(width=5, height=4, lanes=1).plan,
    "bare mesh": MeshSpec(width=3, height=3, lanes=1, controllers=False, routing="odd_even").plan,
    "row": ROW.plan,
    "torus": TORUS.plan,
    "torus of odd lengths": TORUS.with_changes(width=5, height=3).plan,
    "ring": TORUS.with_changes(height=1).plan,
}
each = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


@each
def test_every_link_has_two_ends_that_know_each_other(plan: FabricPlan[Any]) -> None:
    for number, one in enumerate(plan.units):
        assert len(one.ends) == len(one.ports) == len(one.numbers)
        for port, end in enumerate(one.ends):
            if end.kind == "unit":
                assert plan.units[end.number].ends[end.port] == End("unit", number, port)


@each
def test_every_address_is_at_one_port(plan: FabricPlan[Any]) -> None:
    ends = [end for one in plan.units for end in one.ends if end.kind in ("npu", "controller")]
    assert sorted(end.number for end in ends) == list(range(plan.addresses))
    assert {end.number for end in ends if end.kind == "npu"} == set(range(plan.npus))
    for address, (unit, port) in enumerate(plan.homes):
        assert plan.units[unit].ends[port].number == address


@each
def test_routes_are_linked_and_lead_to_their_ends(plan: FabricPlan[Any]) -> None:
    for source, destination in product(range(plan.addresses), repeat=2):
        first, *links = plan.route(source, destination)
        assert first.number == source and first.kind != "unit"
        assert len({link.number for link in links}) == len(links), "a unit comes twice"
        ends = [plan.units[link.number].ends[link.port] for link in links]
        assert [link.number for link in links[1:]] == [end.number for end in ends[:-1]]
        assert links[0].number == plan.homes[source][0]
        assert {end.kind for end in ends[:-1]} <= {"unit"}
        assert ends[-1].number == destination and ends[-1].kind != "unit"


@each
def test_no_circle_of_links_waits_for_itself(plan: FabricPlan[Any]) -> None:
    used = {link.kind for link, _ in links_in_order(plan)}
    assert used >= {"npu", "unit"}


@each
def test_joints_are_the_links_in_both_directions(plan: FabricPlan[Any]) -> None:
    joints = list(plan.joints())
    assert len({one[:2] for one in joints}) == len({one[2:4] for one in joints}) == len(joints)
    assert {(one.other, one.entry, one.unit, one.port, one.pace) for one in joints} == set(joints)
    assert {one.unit for one in joints} == set(range(plan.endpoints + len(plan.units)))


def test_joints_of_a_row_by_hand() -> None:
    plan = MeshPlan(width=2, height=1, controllers=False, routing="xy")
    assert list(plan.joints()) == [
        Joint(2, 0, 3, 0),
        Joint(2, 1, 0, 0),
        Joint(0, 0, 2, 1),
        Joint(3, 0, 2, 0),
        Joint(3, 1, 1, 0),
        Joint(1, 0, 3, 1),
    ]


def test_flits_of_all_pairs_add_up_on_each_link() -> None:
    east, west, local = 1, 3, 4
    assert ROW.plan.loads({(0, 2): 5, (1, 2): 3, (2, 0): 2}) == {
        End("npu", 0): 5,
        End("npu", 1): 3,
        End("npu", 2): 2,
        End("unit", 0, east): 5,
        End("unit", 1, east): 8,
        End("unit", 2, west): 2,
        End("unit", 1, west): 2,
        End("unit", 2, local): 8,
        End("unit", 0, local): 2,
    }


def test_route_between_controllers_leaves_by_their_ports() -> None:
    north, east, south = 0, 1, 2
    assert ROW.plan.homes[3:6] == ((0, north), (1, north), (2, north))
    assert ROW.plan.route(3, 8) == [
        End("controller", 3),
        End("unit", 0, east),
        End("unit", 1, south),
    ]


def test_names_tell_npus_from_controllers() -> None:
    assert [ROW.plan.end_name(address) for address in (2, 3)] == ["npu2", "io3"]
