"""Tests of perfmodel.collectives.themis.network."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.themis.network import (
    QueueDimension,
    ideal_s,
    queue_dimensions,
    share_links,
)
from perfmodel.topology.files import build_topology
from perfmodel.topology.parse import parse_topology

BLOCKS = str(Path(__file__).parents[1] / "blocks.yaml")


def summary(topology: str, members: Sequence[int] | None = None) -> list[tuple[str, int, float]]:
    fabric = parse_topology(topology, "ideal")
    found = queue_dimensions(fabric, members or range(fabric.npus))
    return [(one.kind, one.npus, one.bytes_per_s / 1e9) for one in found]


def test_an_npu_has_the_bandwidth_of_all_its_links_in_a_dimension() -> None:
    assert summary(BLOCKS) == [
        ("ring", 3, 1500.0),
        ("fully_connected", 2, 500.0),
        ("switch", 2, 250.0),
    ]


def test_rows_and_columns_of_a_mesh_are_bound_by_their_ends() -> None:
    assert summary("mesh:5x4") == [("line", 5, 750.0), ("line", 4, 750.0)]
    assert summary("mesh:1x4") == [("line", 4, 750.0)]


def test_levels_of_switches_are_dimensions_that_share_uplinks() -> None:
    assert summary("fred-d") == [("switch", 4, 3000.0), ("switch", 5, 3000.0)]
    assert summary("fred-a") == [("switch", 4, 3000.0), ("switch", 5, 375.0)]


def test_a_group_lies_along_some_places_of_some_dimensions() -> None:
    assert summary("fred-d", [0, 1, 2, 3]) == [("switch", 4, 3000.0)]
    assert summary("fred-d", [0, 4, 8]) == [("switch", 3, 3000.0)]
    assert summary("mesh:5x4", [0, 1, 5, 6]) == [("line", 2, 750.0), ("line", 2, 750.0)]


@pytest.mark.parametrize(
    ("members", "kind", "gb_per_s", "links"),
    [
        (range(8), "ring", 200.0, 1),
        (range(4), "line", 100.0, 1),
        ((0, 2, 4, 6), "ring", 200.0, 2),
        ((0, 1, 4), "ring", 200.0, 4),
        ((1, 2), "line", 100.0, 1),
    ],
    ids=["all", "neighbours", "every second", "wide gaps", "two"],
)
def test_a_group_on_a_ring_closes_it_by_the_shortest_route(
    members: Sequence[int], kind: str, gb_per_s: float, links: int
) -> None:
    ring = {"block": "ring", "npus": 8, "bytes_per_s": 100e9, "latency_s": 1e-8}
    topology = build_topology({"kind": "blocks", "blocks": [ring], "protocol": "ideal"}, "ring")
    (one,) = queue_dimensions(topology, members)
    assert (one.kind, one.bytes_per_s) == (kind, gb_per_s * 1e9)
    assert one.step_s == pytest.approx(links * 1e-8)


@pytest.mark.parametrize(
    ("kind", "npus", "steps"),
    [("ring", 6, 5), ("line", 6, 5), ("fully_connected", 6, 1), ("switch", 8, 3), ("switch", 6, 1)],
)
def test_steps(kind: str, npus: int, steps: int) -> None:
    assert QueueDimension(npus, 1.0, kind=kind).steps == steps  # type: ignore[arg-type]


def test_latency_of_a_step_is_that_of_the_way() -> None:
    fabric = parse_topology("fred-d", "ideal")
    inner, outer = queue_dimensions(fabric, range(20))
    assert inner.step_s == fabric.latency_s(fabric.hops((0,), (1,)))
    assert outer.step_s == fabric.latency_s(fabric.hops((0,), (4,)))


def test_dimensions_share_links_in_a_tree_alone() -> None:
    assert share_links(parse_topology("fred-d"), range(20))
    assert not share_links(parse_topology("fred-d"), range(4))
    assert not share_links(parse_topology("mesh:5x4"), range(20))
    assert not share_links(parse_topology(BLOCKS), range(12))


def test_ideal_time_of_the_tutorial() -> None:
    dimensions = [QueueDimension(8, 50 * 2**30)] * 3
    assert ideal_s(dimensions, 2**30, "all_reduce") == pytest.approx(13307291.7e-9, rel=1e-8)
    assert ideal_s(dimensions, 2**30, "all_gather") == pytest.approx(13307291.7e-9 / 2, rel=1e-8)


def test_refusals() -> None:
    entries = [{"npus": n, "io_controllers": 1, "record": "l1-12"} for n in (4, 3)]
    more = {"l2_record": "l2-10", "l1_l2_bytes_per_s": 1e12, "in_network": False}
    uneven = build_topology({"kind": "fred", "l1": entries, **more}, "uneven")
    with pytest.raises(InputError, match=r"^topology: must have dimensions, not uneven with none$"):
        queue_dimensions(uneven, range(7))
    message = (
        "group: must be all NPUs at which some lines of dimensions cross, not 3 NPUs of fred-d"
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        queue_dimensions(parse_topology("fred-d"), (0, 1, 4))
