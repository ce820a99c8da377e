"""Tests of perfmodel.topology.wafers."""

import re
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from fred_hw.errors import InputError
from perfmodel.network.run import run_collective
from perfmodel.switch_timing.record import load_record
from perfmodel.topology.files import build_topology, load_topology
from perfmodel.topology.graph import Topology
from perfmodel.topology.link_dimensions import BETWEEN, link_dimensions
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.topology.wafers import JOINS, WafersTopology
from tests.records import shipped
from tests.written import written

GIB = 2.0**30


def wafers(count: int, wafer: str = "fred-d", **keys: object) -> Topology:
    """Return so many wafers without protocol overhead, unless keys change that."""
    file = {"kind": "wafers", "wafer": wafer, "wafers": count, "protocol": "ideal", **keys}
    return build_topology(file, f"{count} wafers")


def route(topology: Topology, source: int, target: int) -> list[str]:
    """Return the nodes after the source on the route of a message."""
    hops = topology.hops((source,), (target,))
    return [topology.nodes[topology.links[link].target].name for link, _ in hops]


def test_message_to_another_wafer_takes_controllers_of_equal_number() -> None:
    first = ["wafer0_l1_0", "wafer0_io_1", "lane1_l1_0"]
    assert route(wafers(2), 0, 21) == [*first, "wafer1_io_1", "wafer1_l1_0", "npu_21"]


@pytest.mark.parametrize("wafer", FABRICS)
@pytest.mark.parametrize("join", JOINS)
def test_every_route_is_connected_and_stays_on_its_wafer_where_it_can(
    wafer: str, join: str
) -> None:
    topology = wafers(3, wafer, join=join)
    for source, target in ((0, 19), (3, 20), (39, 41), (59, 0), (25, 22)):
        hops = topology.hops((source,), (target,))
        ends = [(topology.links[link].source, topology.links[link].target) for link, _ in hops]
        assert ends[0][0] == source and ends[-1][1] == target
        assert all(a[1] == b[0] for a, b in pairwise(ends))
        outside = [link for link, _ in hops if link_dimensions(topology)[link] == BETWEEN]
        assert bool(outside) == (source // 20 != target // 20)


def test_ring_of_wafers_takes_the_shorter_way() -> None:
    names = [name for name in route(wafers(5, join="ring"), 0, 80) if "io" in name]
    assert [name.split("_")[0] for name in names] == ["wafer0", "wafer4"]
    names = [name for name in route(wafers(5, join="ring"), 0, 40) if "io" in name]
    assert [name.split("_")[0] for name in names] == ["wafer0", "wafer1", "wafer2"]


def test_one_wafer_is_the_wafer_alone() -> None:
    one, alone = wafers(1), parse_topology("fred-d", "ideal")
    assert (one.links, one.nodes) == (alone.links, alone.nodes)
    found, wanted = (run_collective(some, "all_reduce", GIB) for some in (one, alone))
    assert (found.time_s, found.algorithm) == (wanted.time_s, wanted.algorithm)


@pytest.mark.parametrize(
    ("join", "each", "latency"),
    [("switch", 2 * 2 * 3, 2), ("fred", 2 * 2 * 3, 2), ("ring", 6, 1), ("fully_connected", 6, 1)],
)
def test_links_of_a_controller_share_its_bandwidth(join: str, each: int, latency: int) -> None:
    topology = wafers(3, join=join, bytes_per_s=1e11, latency_s=1e-6)
    assert topology.bisection_bytes_per_s() == pytest.approx(18 * 1e11)
    names = link_dimensions(topology)
    between = [i for i, name in enumerate(names) if name == BETWEEN]
    assert len(between) == 18 * each / (2 if latency == 2 else 1)
    assert {topology.links[i].latency_s for i in between} == {1e-6}
    sent = sum(
        topology.links[i].bytes_per_s
        for i in between
        if topology.links[i].source == topology.io_nodes[0]
    )
    assert sent == pytest.approx(1e11)


@pytest.mark.parametrize(
    ("count", "levels"), [(2, 1), (10, 1), (11, 2), (90, 2), (91, 3), (101, 3)]
)
def test_levels_of_fred_switches_grow_with_the_wafers(count: int, levels: int) -> None:
    topology = wafers(count, "mesh:2x2", join="fred")
    ios = [topology.parts([4 * i])[0].io_nodes[0] for i in range(count)]
    hops = topology.hops(ios, ios)
    switch_s = load_record("l2-10", protocol="ideal").latency_s
    latency_s = 2 * levels * 500e-9 + (2 * levels - 1) * switch_s
    assert topology.latency_s(hops) == pytest.approx(latency_s)


@pytest.mark.parametrize("count", [10, 11, 91, 101])
def test_fred_switches_have_no_more_links_than_ports(count: int) -> None:
    topology = wafers(count, "mesh:2x2", join="fred")
    sent = Counter(topology.nodes[link.source].name for link in topology.links)
    switches = [sent[node.name] for node in topology.nodes if node.name.startswith("lane")]
    assert max(switches) <= load_record("l2-10", protocol="ideal").ports


def test_switches_of_two_ports_join_no_more_than_two_wafers(tmp_path: Path) -> None:
    record = shipped("l2-10") | {"name": "fred_m3_p2_fp16x256"}
    for spec in ("spec", "measured_spec"):
        record[spec] = record[spec] | {"ports": 2}
    path = written(tmp_path / "two.json", record)
    assert wafers(2, "mesh:2x2", join="fred", record=str(path)).wafers == 2
    message = "record: must be of a switch with 3 or more ports to join 3 wafers, not "
    with pytest.raises(InputError, match=re.escape(message)):
        wafers(3, "mesh:2x2", join="fred", record=str(path))
    timing, wafer = load_record(str(path), protocol="ideal"), parse_topology("mesh:2x2")
    with pytest.raises(ValueError, match=r"^record must be of a switch with 3 or more ports"):
        WafersTopology(name="w", wafer=wafer, wafers=3, join="fred", timing=timing)


def test_join_of_fred_says_what_runs_at_full_rate() -> None:
    [joined] = [one for one in wafers(3, join="fred").provenance.assumptions if "joined" in one]
    assert "reduce and multicast at the full rate of every controller" in joined
    assert "a link between two switches has the bandwidth of one controller" in joined


def test_switches_that_only_route_do_not_join_controllers() -> None:
    topology = wafers(3)
    ios = [topology.parts([20 * i])[0].io_nodes[0] for i in range(3)]
    with pytest.raises(ValueError, match="no in-network collectives across wafers"):
        topology.hops(ios, ios)
    with pytest.raises(ValueError, match="no in-network collectives across wafers"):
        topology.hops((0, 1), (20,))


@pytest.mark.parametrize("join", JOINS)
def test_nodes_are_drawn_apart(join: str) -> None:
    topology = wafers(3, join=join)
    places = topology.layout()
    assert len(places) == len(topology.nodes)
    assert len({node.name for node in topology.nodes}) == len(topology.nodes)
    for (x0, y0), (x1, y1) in combinations(places.values(), 2):
        assert abs(x0 - x1) >= 30 or abs(y0 - y1) >= 30


def test_example_has_published_controllers() -> None:
    topology = load_topology(EXAMPLES / "four-wafers.yaml")
    assert (topology.npus, topology.io_controllers, topology.between) == (80, 4 * 18, "switch")
    assert topology.bisection_bytes_per_s() == pytest.approx(2 * 18 * 128e9)


def test_wafer_of_a_file_is_found_beside_it(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("kind: mesh\ncolumns: 2\nrows: 2\nnpu: {hbm_bytes: 1e9}\n")
    own = tmp_path / "two.yaml"
    own.write_text("kind: wafers\nwafer: one.yaml\nwafers: 2\n")
    found = load_topology(own)
    assert found.npus == 8 and found.npu_rates["hbm_bytes"] == 1e9
    own.write_text("kind: wafers\nwafer: two.yaml\nwafers: 2\n")
    with pytest.raises(InputError, match=r"wafer: must be one wafer, not .two\.yaml. of several"):
        load_topology(own)


def test_name_keeps_the_case_of_the_path_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "My.yaml"
    path.write_text("kind: mesh\ncolumns: 2\nrows: 2\n")
    assert parse_topology(f"Wafers:2x{path}").npus == 8
    assert parse_topology("wafers:2XFRED-D").npus == 40


def test_wafer_with_endpoints_is_refused() -> None:
    path = str(EXAMPLES / "fred-d-endpoints.yaml")
    message = f"wafer: must have no endpoint_record, which {path} has"
    with pytest.raises(InputError, match=re.escape(message)):
        wafers(2, path, protocol="measured")
