"""Tests of perfmodel.fluid.symmetry."""

import pytest

from perfmodel.collectives.schedule import as_flows
from perfmodel.collectives.select import build_schedule
from perfmodel.fluid.flow import FluidFlow
from perfmodel.fluid.symmetry import Classes, flow_classes, separate_classes
from perfmodel.topology.parse import parse_topology


def classes_of(topology: str, pattern: str, algorithm: str = "auto") -> tuple[int, Classes]:
    """Return the flows of a wafer-wide collective, and their classes."""
    wafer = parse_topology(topology)
    everyone = [range(wafer.npus)]
    schedule = build_schedule(wafer, pattern, everyone, 1.0, algorithm, lockstep=True)
    flows = as_flows(wafer, schedule)
    return len(flows), flow_classes(flows, wafer.capacities)


def around(*, payload_bytes: float = 1.0, after: tuple[int, ...] = ()) -> list[FluidFlow]:
    """Return four flows on a circle of four links, each on two; the last one may differ."""
    flows = [FluidFlow(((i, 1.0), ((i + 1) % 4, 1.0)), 1.0, 0.0) for i in range(3)]
    return [*flows, FluidFlow(((3, 1.0), (0, 1.0)), payload_bytes, 0.0, after)]


def test_flows_on_a_circle_are_one_class() -> None:
    found = flow_classes(around(), [5.0] * 4)
    assert found.flow_class == (0, 0, 0, 0)
    assert found.representative == (0,)
    assert found.capacities == (5.0,)
    assert found.loads == (((0, 2.0),),)  # two flows on each link


def test_one_other_link_splits_by_distance_from_it() -> None:
    # Flows 0 and 3 cross link 0; links 1 and 3 lie beside it, link 2 opposite.
    found = flow_classes(around(), [9.0, 5.0, 5.0, 5.0])
    assert found.flow_class == (0, 1, 1, 0)
    assert found.representative == (0, 1)
    assert sorted(found.capacities) == [5.0, 5.0, 9.0]
    loads = [sorted((found.capacities[link], load) for link, load in one) for one in found.loads]
    assert loads == [[(5.0, 1.0), (9.0, 2.0)], [(5.0, 1.0), (5.0, 2.0)]]


@pytest.mark.parametrize(
    ("flows", "flow_class"),
    [
        # Flow 3 differs; flows 0 and 2 share a link with it, flow 1 does not. The flow that it
        # waits for differs from the others too.
        (around(payload_bytes=2.0), (0, 1, 0, 2)),
        (around(after=(1,)), (0, 1, 0, 2)),
        (around(after=(0,)), (0, 1, 2, 3)),
    ],
    ids=["bytes", "waits for the opposite", "waits for a neighbour"],
)
def test_one_other_flow_splits_by_distance_from_it(
    flows: list[FluidFlow], flow_class: tuple[int, ...]
) -> None:
    assert flow_classes(flows, [5.0] * 4).flow_class == flow_class


@pytest.mark.parametrize(
    "other",
    [
        FluidFlow(((1, 1.0),), 2.0, 0.0),
        FluidFlow(((1, 1.0),), 1.0, 1.0),
        FluidFlow(((1, 2.0),), 1.0, 0.0),
        FluidFlow(((1, 1.0), (2, 1.0)), 1.0, 0.0),
        FluidFlow(((1, 1.0),), 1.0, 0.0, (0,)),
    ],
    ids=["bytes", "latency", "load", "links", "waits"],
)
def test_flow_that_differs_is_a_class_of_its_own(other: FluidFlow) -> None:
    first = FluidFlow(((0, 1.0),), 1.0, 0.0)
    assert flow_classes([first, other], [5.0] * 3).flow_class == (0, 1)


def test_load_of_a_class_is_that_of_all_its_flows() -> None:
    flows = [FluidFlow(((0, 1.0), (i + 1, 1.0)), 1.0, 0.0) for i in range(3)]
    found = flow_classes(flows, [9.0, 1.0, 1.0, 1.0])
    assert found.flow_class == (0, 0, 0)
    assert dict(zip(found.capacities, (load for _, load in found.loads[0]), strict=True)) == {
        9.0: 3.0,
        1.0: 1.0,
    }


def test_without_flows_there_are_no_classes() -> None:
    assert flow_classes([], [1.0]) == Classes((), (), (), (), ())


def test_separate_classes_are_the_flows_and_links_themselves() -> None:
    flows, capacities = around(), [5.0, 6.0, 7.0, 8.0]
    assert separate_classes(flows, capacities) == Classes(
        (0, 1, 2, 3),
        (0, 1, 2, 3),
        tuple(capacities),
        tuple(flow.loads for flow in flows),
        (1 / 5.0, 1 / 6.0, 1 / 7.0, 1 / 5.0),
    )


def test_flow_is_alone_at_the_rate_of_its_own_load() -> None:
    # Two flows of a class share the first link; alone, each has all of it.
    flows = [FluidFlow(((0, 2.0), (i + 1, 1.0)), 1.0, 0.0) for i in range(2)]
    found = flow_classes(flows, [8.0, 5.0, 5.0])
    assert found.flow_class == (0, 0)
    assert found.seconds_per_byte == (0.25,)


@pytest.mark.parametrize(
    ("topology", "pattern", "flows", "classes", "links"),
    [
        # One flow on all links: those of the NPUs, and those between the switches.
        ("fred-d", "all_reduce", 1, 1, 2),
        # Passes around rings: in five L1s, across them from each place, and back.
        ("fred-c", "all_reduce", 5 + 4 + 4 + 5, 4, 2),
        ("mesh:4x4", "all_reduce", 2 * (4 + 4 + 4 + 4), 4, 1),
        # Twice in opposite order, half of the links in a row and half in a column.
        ("mesh:5x4", "all_reduce", 2 * (4 + 5 + 5 + 4), 8, 2),
        # On one L1 or on two.
        ("fred-d", "all_to_all", 20 * 19, 2, 2),
    ],
)
def test_wafer_wide_collective_has_few_classes(
    topology: str, pattern: str, flows: int, classes: int, links: int
) -> None:
    count, found = classes_of(topology, pattern)
    assert count == flows
    assert (len(found.representative), len(found.capacities)) == (classes, links)


def test_flow_between_two_npus_splits_the_classes_of_an_all_reduce() -> None:
    wafer = parse_topology("mesh:4x4")
    schedule = build_schedule(wafer, "all_reduce", [range(16)], 1.0, lockstep=True)
    flows = as_flows(wafer, schedule)
    alone = flow_classes(flows, wafer.capacities)
    links = tuple((link, 1.0) for link, _ in wafer.hops((0,), (1,)))
    disturbed = flow_classes([*flows, FluidFlow(links, 1.0, 0.0)], wafer.capacities)
    assert len(disturbed.representative) > len(alone.representative) + 1


def test_flow_without_links_has_a_class_without_loads() -> None:
    found = flow_classes([FluidFlow(((0, 1.0),), 1.0, 0.0), FluidFlow((), 0.0, 0.0)], [5.0])
    assert found.flow_class == (0, 1)
    assert found.loads == (((0, 1.0),), ())
