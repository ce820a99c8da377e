"""Tests of perfmodel.topology.mesh."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.mesh.plan import MeshPlan
from perfmodel.topology.mesh import MeshTopology
from perfmodel.topology.parse import parse_topology
from tests.records import shipped
from tests.written import written


def mesh(columns: int, rows: int) -> MeshTopology:
    wafer = parse_topology(f"mesh:{columns}x{rows}")
    assert isinstance(wafer, MeshTopology)
    return wafer


def route(wafer: MeshTopology, source: int, target: int) -> list[int]:
    """Return the NPUs on a route, including source and destination."""
    return [source, *(wafer.links[link].target for link, _ in wafer.hops((source,), (target,)))]


def test_published_mesh() -> None:
    wafer = mesh(5, 4)
    assert (wafer.npus, wafer.io_controllers) == (20, 18)
    assert wafer.bisection_bytes_per_s() == 3.75e12
    assert {link.latency_s for link in wafer.links} == {20e-9}
    assert {link.bytes_per_s for link in wafer.links} == {750e9, 128e9}


def test_each_corner_has_two_io_controllers_and_the_inside_none() -> None:
    wafer = mesh(5, 4)
    ios = [
        sum(wafer.nodes[link.target].kind == "io" for link in wafer.links if link.source == npu)
        for npu in range(20)
    ]
    assert ios == [2, 1, 1, 1, 2, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 2, 1, 1, 1, 2]


def test_names_are_readable() -> None:
    wafer = mesh(5, 4)
    assert wafer.link_name(wafer.link_index[1, 6]) == "npu_1 -> npu_6"
    assert wafer.node_index["io_17"] == len(wafer.nodes) - 1


@pytest.mark.parametrize(
    ("columns", "rows", "links"), [(4, 4, 4), (5, 5, 6), (2, 1, 1), (3, 3, 4), (8, 2, 2)]
)
def test_bisection_counts_the_links_between_halves(columns: int, rows: int, links: int) -> None:
    assert mesh(columns, rows).bisection_bytes_per_s() == links * 750e9


def test_route_goes_along_the_row_first() -> None:
    assert route(mesh(5, 4), 2, 15) == [2, 1, 0, 5, 10, 15]
    assert route(mesh(5, 4), 19, 1) == [19, 18, 17, 16, 11, 6, 1]


@given(st.integers(1, 6), st.integers(2, 6), st.data())
def test_route_is_that_of_the_hardware_and_shortest(
    columns: int, rows: int, data: st.DataObject
) -> None:
    wafer = mesh(columns, rows)
    source = data.draw(st.integers(0, wafer.npus - 1))
    target = data.draw(st.integers(0, wafer.npus - 1))
    distance = abs(source % columns - target % columns) + abs(source // columns - target // columns)
    path = route(wafer, source, target)
    assert len(path) == distance + 1
    plan = MeshPlan(width=columns, height=rows, controllers=False, routing="xy")
    assert path == [link.number for link in plan.route(source, target)[1:]]


def test_multicast_crosses_each_link_once() -> None:
    wafer = mesh(5, 4)
    links = [link for link, _ in wafer.hops((0,), range(1, 20))]
    assert len(links) == len(set(links)) == 19


def test_reduction_in_the_network_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a mesh transfer must have one source, not 2$"):
        mesh(5, 4).hops((0, 1), (2,))


def test_what_crosses_routers_is_late_by_each() -> None:
    wafer, ideal = mesh(5, 4), parse_topology("mesh:5x4", "ideal")
    late_s = wafer.nodes[0].latency_s
    assert late_s == 8 / (750e9 / 512)
    link_s = 20e-9
    # Both ends have a router, and an I/O controller is a neighbour of one.
    assert wafer.latency_s(wafer.hops((0,), (1,))) == pytest.approx(link_s + 2 * late_s)
    assert wafer.latency_s(wafer.hops((0,), (7,))) == pytest.approx(3 * link_s + 4 * late_s)
    io = wafer.io_nodes[0]
    [first] = [link.target for link in wafer.links if link.source == io]
    assert wafer.latency_s(wafer.hops((io,), (first,))) == pytest.approx(link_s + late_s)
    assert wafer.latency_s(wafer.reduction_hops((first,), io)) == pytest.approx(link_s + late_s)
    assert ideal.latency_s(ideal.hops((0,), (7,))) == pytest.approx(3 * link_s)
    assert wafer.latency_s(()) == 0


def test_what_is_urgent_waits_at_each_router_for_a_packet() -> None:
    wafer, ideal = mesh(5, 4), parse_topology("mesh:5x4", "ideal")
    with_endpoints = parse_topology("examples/mesh-5x4-endpoints.yaml")
    wait_s = 6 / (750e9 / 512)
    for one, each_s in ((wafer, wait_s), (with_endpoints, wait_s), (ideal, 0.0)):
        hops = one.hops((0,), (7,))
        later_s = one.latency_s(hops, urgent=True) - one.latency_s(hops)
        assert later_s == pytest.approx(4 * each_s)


def test_routers_name_their_record() -> None:
    measured, ideal = (parse_topology("mesh:5x4", one) for one in ("measured", "ideal"))
    (use,) = measured.provenance.records
    assert (use.switches, use.record, use.latency_cycles) == (
        "routers of mesh links",
        "mesh-5x4",
        8,
    )
    assert {link.efficiency for link in measured.links} == {use.efficiency}
    assert measured.provenance.assumptions[0].startswith("NPUs of the mesh wait for no acks")
    assert ideal.provenance.records == ()
    assert ideal.provenance.assumptions[0].startswith("mesh routers take no time")
    assert ideal.provenance.assumptions[1].startswith("protocol ideal: ")


def test_record_of_a_switch_gives_its_share_alone(
    give_whole_switches: Callable[..., None], tmp_path: Path
) -> None:
    give_whole_switches(0.5, {"l1-12": 40})
    path = written(tmp_path / "wafer.yaml", "kind: mesh\ncolumns: 5\nrows: 4\nlink_record: l1-12\n")
    measured = parse_topology(str(path))
    assert {link.efficiency for link in measured.links} == {0.5}
    assert {node.latency_s for node in measured.nodes} == {0.0}
    (use,) = measured.provenance.records
    assert (use.switches, use.record, use.efficiency) == ("mesh links", "l1-12", 0.5)
    assert (use.latency_cycles, use.latency_s) == (None, None)
    assert measured.provenance.assumptions[0].startswith("mesh routers take no time")
    assert "as those of l1-12 do, so payload is 0.5" in measured.provenance.assumptions[1]


def test_record_of_an_interconnect_alone_leaves_the_links_whole(tmp_path: Path) -> None:
    written(tmp_path / "own.json", shipped("l1-12") | {"switch": None})
    path = tmp_path / "wafer.yaml"
    text = "kind: mesh\ncolumns: 2\nrows: 2\nlink_record: own.json\n"
    path.write_text(text, encoding="utf-8")
    wafer = parse_topology(str(path))
    assert {link.efficiency for link in wafer.links} == {1.0}
    text = "mesh links have all of their rate: record own.json is of an interconnect alone"
    assert text in wafer.provenance.assumptions


def test_networkx_view_has_nodes_and_links() -> None:
    graph = mesh(5, 4).graph()
    assert graph.number_of_nodes() == 38
    assert graph.edges["npu_0", "npu_1"]["bytes_per_s"] == 750e9


def test_layout_has_npus_in_a_grid_and_io_controllers_outside_of_it() -> None:
    wafer = mesh(3, 2)
    place = wafer.layout()
    assert [place[npu] for npu in range(6)] == [
        *((110, 90), (230, 90), (350, 90)),
        *((110, 180), (230, 180), (350, 180)),
    ]
    assert {place[io] for io in wafer.io_nodes} == {
        *((40, 90), (40, 180), (420, 90), (420, 180)),
        *((110, 30), (230, 30), (350, 30), (110, 240), (230, 240), (350, 240)),
    }


def test_layout_of_a_line_puts_two_io_controllers_on_opposite_sides() -> None:
    wafer = mesh(1, 2)
    place = wafer.layout()
    sides = {npu: set[tuple[float, float]]() for npu in range(2)}
    for io in wafer.io_nodes:
        npu = next(link.target for link in wafer.links if link.source == io)
        sides[npu].add((place[io][0] - place[npu][0], place[io][1] - place[npu][1]))
    assert sides == {0: {(70, 0), (-70, 0), (0, -60)}, 1: {(70, 0), (-70, 0), (0, 60)}}


@pytest.mark.parametrize(("columns", "rows"), [(1, 4), (5, 1), (3, 4), (6, 5)])
def test_a_tree_is_the_union_of_its_routes(columns: int, rows: int) -> None:
    wafer = mesh(columns, rows)
    everyone = range(wafer.npus)
    for source in (*everyone, *wafer.io_nodes):
        found = wafer.hops((source,), everyone)
        ways = [wafer.hops((source,), (target,)) for target in everyone]
        assert {link for link, _ in found} == {link for way in ways for link, _ in way}
        assert len(found) == wafer.npus - (source in everyone)
        for place, (link, before) in enumerate(found):
            ends = [found[other][0] for other in before]
            assert all(other < place for other in before)
            assert [wafer.links[one].target for one in ends] in ([], [wafer.links[link].source])
            assert bool(before) == (wafer.links[link].source != source)
