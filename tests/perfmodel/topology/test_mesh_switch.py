"""Tests of perfmodel.topology.mesh_switch."""

from itertools import combinations
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from fred_hw.errors import InputError
from perfmodel.network.run import run_collective
from perfmodel.topology.files import build_topology, load_topology
from perfmodel.topology.graph import Topology

GIB = 1 << 30
FILE = {
    "kind": "mesh_switch",
    "columns": 3,
    "rows": 2,
    "npus": 2,
    "io_controllers": 6,
    "in_network": True,
    "npu_bytes_per_s": 1e12,
    "mesh_bytes_per_s": 2e12,
    "link_latency_s": 0.0,
    "protocol": "ideal",
}


def hybrid(**changes: object) -> Topology:
    """Return three columns and two rows of groups of two NPUs, with changes."""
    return build_topology({**FILE, **changes}, "hybrid")


def walked(topology: Topology, sources: tuple[int, ...], targets: tuple[int, ...]) -> list[str]:
    """Return the links between switches that a flow crosses."""
    names = [topology.link_name(link) for link, _ in topology.hops(sources, targets)]
    return [name for name in names if name.count("l1_") == 2]


def test_nodes_and_links() -> None:
    found = hybrid()
    assert (found.npus, found.io_controllers) == (12, 6)
    assert len(found.links) == 2 * (12 + 6 + 7)
    assert {found.switch_of[npu] for npu in (0, 1, 12 + 6)} == {12}
    places = found.layout()
    assert len(places) == len(found.nodes)
    for (x0, y0), (x1, y1) in combinations(places.values(), 2):  # boxes of 48 x 28 at most
        assert abs(x0 - x1) >= 50 or abs(y0 - y1) >= 30


@pytest.mark.parametrize(
    ("columns", "rows", "bisection"),
    [(3, 2, 2 * 2e12), (2, 3, 2 * 2e12), (4, 1, 2e12), (1, 4, 2e12)],
)
def test_bisection_cuts_rows_or_columns(columns: int, rows: int, bisection: float) -> None:
    assert hybrid(columns=columns, rows=rows).bisection_bytes_per_s() == bisection


def test_route_goes_along_the_row_first() -> None:
    # From group 0 to group 5, in the other corner.
    assert walked(hybrid(in_network=False), (0,), (10,)) == [
        "l1_0 -> l1_1",
        "l1_1 -> l1_2",
        "l1_2 -> l1_5",
    ]


def test_group_on_one_switch_stays_there() -> None:
    assert walked(hybrid(), (0, 1), (0, 1)) == []


def test_flow_is_joined_in_the_middle_and_forks_there() -> None:
    # Groups 0, 1 and 2 meet at 1.
    members = (0, 2, 4)
    assert walked(hybrid(), members, members) == [
        "l1_0 -> l1_1",
        "l1_2 -> l1_1",
        "l1_1 -> l1_0",
        "l1_1 -> l1_2",
    ]
    assert walked(hybrid(), members, (4,)) == ["l1_0 -> l1_1", "l1_1 -> l1_2"]


def test_every_hop_waits_for_all_that_it_joins() -> None:
    found, everyone = hybrid(), tuple(range(12))
    hops = found.hops(everyone, everyone)
    assert len({link for link, _ in hops}) == len(hops) == 24 + 2 * 5
    for link, before in hops:
        source = found.links[link].source
        assert all(found.links[hops[one][0]].target == source for one in before)
        if found.nodes[source].kind == "switch":
            assert before
    # What the last switch sends to its NPUs has come from all of them.
    reached: list[set[int]] = []
    for link, before in hops:
        own = {found.links[link].source} & set(everyone)
        reached.append(own.union(*(reached[one] for one in before)))
    for (link, _), came in zip(hops, reached, strict=True):
        if found.nodes[found.links[link].target].kind == "npu":
            assert came == set(everyone)


@pytest.mark.parametrize(("mesh", "seconds"), [(2e12, GIB / 1e12), (0.5e12, GIB / 0.5e12)])
def test_all_reduce_takes_what_its_slowest_link_takes(mesh: float, seconds: float) -> None:
    found = run_collective(hybrid(mesh_bytes_per_s=mesh), "all_reduce", GIB)
    assert found.algorithm == "in-network"
    assert found.time_s == pytest.approx(seconds, rel=0.1)


def test_switches_that_only_route_join_nothing() -> None:
    with pytest.raises(ValueError, match=r"^hybrid has no in-network collectives$"):
        hybrid(in_network=False).hops((0, 1), (0, 1))
    found = run_collective(hybrid(in_network=False), "all_reduce", GIB)
    assert found.time_s > run_collective(hybrid(), "all_reduce", GIB).time_s


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": 1, "rows": 1}, "columns: must make 2 or more groups, not 1"),
        ({"columns": 256, "rows": 256}, "npus: must be at most 65536 in all, not 131072"),
        ({"io_controllers": 13}, "io_controllers: must be at most 12, one for each NPU, not 13"),
        (
            {"record": "l9"},
            "record: must be l1-11, l1-12, l2-10 or a path ending in .json, not 'l9'",
        ),
    ],
)
def test_bad_file_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        hybrid(**changes)
    assert str(error.value).startswith(f"hybrid: {message}")


def test_example_has_the_wires_of_fred_d() -> None:
    found = load_topology(Path(EXAMPLES / "mesh-switch-20.yaml"))
    inner = [
        one
        for one in found.links
        if "io" not in {found.nodes[one.source].kind, found.nodes[one.target].kind}
    ]
    assert sum(one.bytes_per_s for one in inner) / 2 == pytest.approx(120e12)
