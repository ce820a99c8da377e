"""Tests of perfmodel.topology.fred."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfmodel.collectives.streaming import build_stream
from perfmodel.network.run import run_collectives
from perfmodel.published import BISECTION
from perfmodel.switch_timing.record import load_record
from perfmodel.topology.fred import L1, FredTopology, Level
from perfmodel.topology.parse import parse_topology
from tests.records import shipped
from tests.written import written


def fred(variant: str) -> FredTopology:
    wafer = parse_topology(f"fred-{variant}")
    assert isinstance(wafer, FredTopology)
    return wafer


def links(wafer: FredTopology, sources: tuple[int, ...], targets: tuple[int, ...]) -> list[str]:
    return [
        wafer.link_name(link).replace("npu_", "").replace(" -> ", ">")
        + "".join(f"<{b}" for b in before)
        for link, before in wafer.hops(sources, targets)
    ]


@pytest.mark.parametrize(
    ("variant", "uplink", "in_network"),
    [("a", 1.5e12, False), ("b", 1.5e12, True), ("c", 12e12, False), ("d", 12e12, True)],
)
def test_published_variant(variant: str, uplink: float, in_network: bool) -> None:
    wafer = fred(variant)
    assert (wafer.npus, wafer.io_controllers, len(wafer.l1_nodes)) == (20, 18, 5)
    assert wafer.bisection_bytes_per_s() == BISECTION[f"fred-{variant}"].value
    assert wafer.in_network is in_network
    up = wafer.links[wafer.link_index[wafer.l1_nodes[4], wafer.top_node]]
    assert (up.bytes_per_s, up.latency_s) == (uplink, 20e-9)
    assert wafer.links[wafer.link_index[0, wafer.l1_nodes[0]]].bytes_per_s == 3e12


def test_unicasts_choose_one_of_parallel_links() -> None:
    """Two links up from each L1, of half the bandwidth each; NPUs 0 and 3 take the second one."""
    l1 = [L1(2, 0, load_record("l1-12"))] * 2

    def made(**how: Any) -> FredTopology:
        return FredTopology(
            name="own",
            l1=l1,
            levels=[Level((load_record("l2-10"),), 2, 6e12, links=2)],
            npu_l1_bytes_per_s=3e12,
            io_bytes_per_s=3e12,
            link_latency_s=0.0,
            in_network=False,
            **how,
        )

    wafer = made(links_of=lambda source, target: (int(source in (0, 3)), int(target == 3)))
    up, down = (4, 6), (6, 5)
    first = [wafer.link_index[ends] for ends in (up, down)]
    between = [one for one in wafer.links if (one.source, one.target) == up]
    assert [one.bytes_per_s for one in between] == [3e12, 3e12]

    def taken(wafer: FredTopology, source: int, target: int) -> list[int]:
        (_, *found, _) = (link for link, _ in wafer.hops((source,), (target,)))
        assert [(wafer.links[one].source, wafer.links[one].target) for one in found] == [up, down]
        return [one - other for one, other in zip(found, first, strict=True)]

    assert taken(wafer, 0, 2) == [2, 0] and taken(wafer, 1, 3) == [0, 2]
    assert taken(wafer, 0, 3) == [2, 2] and taken(wafer, 1, 2) == [0, 0]
    assert len(wafer.hops((0,), (1,))) == 2, "in one L1 there is nothing to choose"
    assert taken(made(), 0, 3) == [0, 0]


def test_npus_are_numbered_switch_by_switch() -> None:
    wafer = fred("d")
    assert [wafer.nodes[wafer.switch_of[npu]].name for npu in (0, 3, 4, 19)] == [
        "l1_0",
        "l1_0",
        "l1_1",
        "l1_4",
    ]


def test_switch_latency_is_that_of_its_chiplet() -> None:
    wafer = fred("d")
    names = {"l1_0": "l1-12", "l1_2": "l1-12", "l1_3": "l1-11", "l1_4": "l1-11", "l2": "l2-10"}
    for switch, record in names.items():
        found = wafer.nodes[wafer.node_index[switch]].latency_s
        assert found == load_record(record).latency_s


def test_provenance_names_the_record_of_each_switch() -> None:
    uses = {use.record: use.switches for use in fred("a").provenance.records}
    assert uses == {"l1-12": "l1_0, l1_1, l1_2", "l1-11": "l1_3, l1_4", "l2-10": "l2"}


def routed(folder: Path) -> FredTopology:
    """Return FRED-C with switches that only route."""
    path = written(
        folder / "routed.yaml",
        "kind: fred\nl1:\n"
        "  - {count: 3, npus: 4, io_controllers: 4, record: l1-12}\n"
        "  - {count: 2, npus: 4, io_controllers: 3, record: l1-11}\n"
        "l2_record: l2-10\nl1_l2_bytes_per_s: 12e12\nin_network: false\n",
    )
    wafer = parse_topology(str(path))
    assert isinstance(wafer, FredTopology)
    return wafer


def test_what_circuits_share_is_assumed_where_switches_join_or_fork(tmp_path: Path) -> None:
    at_once = "a switch serves flows of different circuits at once if they share no link"
    assert at_once in fred("d").provenance.assumptions
    assert at_once in fred("c").provenance.assumptions
    assert at_once not in routed(tmp_path).provenance.assumptions


@pytest.mark.parametrize("variant", ["a", "b", "c", "d"])
def test_switches_of_every_published_variant_fork_multicasts(variant: str) -> None:
    """All receivers get 3 TB/s of one source, as section 8.1 of the paper has it."""
    wafer = fred(variant)
    found = wafer.hops((0,), (1, 2, 5))
    ends = {wafer.links[link].target for link, _ in found}
    assert {1, 2, 5} <= ends and len(found) == 6
    slowest = wafer.links[wafer.link_index[0, wafer.switch_of[0]]].payload_bytes_per_s
    sent = run_collectives(wafer, "broadcast", 2.0**30, [(0, 1, 2, 3)])
    assert sent.time_s == pytest.approx(2.0**30 / slowest, rel=0.02)


def test_switches_that_only_route_pass_a_multicast_on_between_npus(tmp_path: Path) -> None:
    wafer = routed(tmp_path)
    with pytest.raises(ValueError, match=r"has no in-network collectives$"):
        wafer.hops((0,), (1, 2))
    assert not wafer.multicast and fred("c").multicast
    there, here = (
        run_collectives(one, "broadcast", 2.0**20, [(0, 1, 2, 3)]).time_s
        for one in (wafer, fred("c"))
    )
    assert there > 1.3 * here


def test_gradients_are_added_up_by_npus_where_switches_only_fork() -> None:
    names = {
        (variant, pattern): build_stream(fred(variant), pattern, [(0, 1, 2, 3)], 1.0).algorithm
        for variant in "cd"
        for pattern in ("stream_in", "stream_out")
    }
    assert names["c", "stream_in"] == "trees" and names["c", "stream_out"] == "rings"
    assert names["d", "stream_in"] == names["d", "stream_out"] == "in-network"


def test_link_has_the_lesser_efficiency_of_its_ends(
    give_whole_switches: Callable[..., None],
) -> None:
    shares = {"l1-11": 0.5, "l1-12": 0.6, "l2-10": 0.55}
    give_whole_switches(shares, dict.fromkeys(shares, 40))
    wafer = fred("d")
    found = {wafer.link_name(i): link.efficiency for i, link in enumerate(wafer.links)}
    ends = (("npu_0", "l1_0"), ("npu_19", "l1_4"), ("io_0", "l1_0"), ("l1_0", "l2"), ("l1_4", "l2"))
    for (a, b), share in zip(ends, (0.6, 0.5, 0.6, 0.55, 0.5), strict=True):
        assert found[f"{a} -> {b}"] == found[f"{b} -> {a}"] == share


def test_what_is_not_taken_from_the_records_is_assumed(
    give_whole_switches: Callable[..., None],
) -> None:
    give_whole_switches(0.5, {"l1-11": 40, "l1-12": 40, "l2-10": 40})
    said = fred("d").provenance.assumptions
    assert "links are free of faults, so nothing is sent again" in said
    assert not any("urgent" in text for text in said), "that is charged"
    ideal = parse_topology("fred-d", "ideal").provenance.assumptions
    assert not set(said[1:]) & set(ideal)
    assert ideal[-1].startswith("protocol ideal: ")


def test_records_of_interconnects_alone_are_named(tmp_path: Path) -> None:
    record = shipped("l1-12")
    record |= {"switch": None, "reconfiguration_cycles": 4}
    written(tmp_path / "own.json", record)
    path = tmp_path / "wafer.yaml"
    path.write_text(
        "kind: fred\nl1:\n  - {count: 2, npus: 2, io_controllers: 0, record: own.json}\n"
        "l2_record: own.json\nl1_l2_bytes_per_s: 6e12\nin_network: false\n",
        encoding="utf-8",
    )
    assert parse_topology(str(path)).provenance.assumptions == (
        "phases follow each other without a gap, which was measured as up to 4 cycle(s)",
        "headers, CRC, acks and link layer are free in own.json",
    )


@pytest.mark.parametrize(
    ("sources", "targets", "expected"),
    [
        ((0,), (1,), ["0>l1_0", "l1_0>1<0"]),
        ((0,), (5,), ["0>l1_0", "l1_0>l2<0", "l2>l1_1<1", "l1_1>5<2"]),
        ((0, 1), (0, 1), ["0>l1_0", "1>l1_0", "l1_0>0<0<1", "l1_0>1<0<1"]),
        (
            (0, 4),
            (0, 4),
            [
                *("0>l1_0", "4>l1_1", "l1_0>l2<0", "l1_1>l2<1"),
                *("l2>l1_0<2<3", "l2>l1_1<2<3", "l1_0>0<4", "l1_1>4<5"),
            ],
        ),
        ((0, 1, 4), (4,), ["0>l1_0", "1>l1_0", "4>l1_1", "l1_0>l2<0<1", "l2>l1_1<3", "l1_1>4<2<4"]),
        ((0,), (1, 4), ["0>l1_0", "l1_0>l2<0", "l2>l1_1<1", "l1_0>1<0", "l1_1>4<2"]),
    ],
)
def test_flow_joins_and_forks_where_it_can(
    sources: tuple[int, ...], targets: tuple[int, ...], expected: list[str]
) -> None:
    assert links(fred("d"), sources, targets) == expected


def tall(tmp_path: Path, more: str = "") -> FredTopology:
    """Return three levels of switches: two L2s, one with three L1s and one with two."""
    path = tmp_path / "wafer.yaml"
    path.write_text(
        "kind: fred\nl1:\n  - {count: 5, npus: 2, io_controllers: 1, record: l1-12}\nlevels:\n"
        "  - {fan_in: 3, bytes_per_s: 6e12, record: l1-11}\n"
        "  - {fan_in: 2, bytes_per_s: 8e12, record: l2-10}\nin_network: true\n" + more,
        encoding="utf-8",
    )
    wafer = parse_topology(str(path))
    assert isinstance(wafer, FredTopology)
    return wafer


def test_levels_join_the_switches_below(tmp_path: Path) -> None:
    wafer = tall(tmp_path)
    assert [[wafer.nodes[node].name for node in row] for row in wafer.levels] == [
        ["l1_0", "l1_1", "l1_2", "l1_3", "l1_4"],
        ["l2_0", "l2_1"],
        ["l3"],
    ]
    rates = {wafer.link_name(i): link.bytes_per_s for i, link in enumerate(wafer.links)}
    assert (rates["l1_2 -> l2_0"], rates["l1_3 -> l2_1"], rates["l3 -> l2_1"]) == (
        *(6e12, 6e12),
        8e12,
    )
    assert "l1_2 -> l2_1" not in rates and "l1_0 -> l3" not in rates
    # The links to the L3 are the least cut: below there are 30 TB/s of NPUs and of L1s.
    assert wafer.bisection_bytes_per_s() == (8e12 + 8e12) / 2
    uses = {use.record: use.switches for use in wafer.provenance.records}
    assert uses == {"l1-12": "l1_0 to l1_4", "l1-11": "l2_0, l2_1", "l2-10": "l3"}


@pytest.mark.parametrize(
    ("sources", "targets", "expected"),
    [
        ((0,), (4,), ["0>l1_0", "l1_0>l2_0<0", "l2_0>l1_2<1", "l1_2>4<2"]),
        (
            (0,),
            (9,),
            ["0>l1_0", "l1_0>l2_0<0", "l2_0>l3<1", "l3>l2_1<2", "l2_1>l1_4<3", "l1_4>9<4"],
        ),
        # A group under one L2 does not leave it.
        (
            (0, 2),
            (0, 2),
            [
                *("0>l1_0", "2>l1_1", "l1_0>l2_0<0", "l1_1>l2_0<1"),
                *("l2_0>l1_0<2<3", "l2_0>l1_1<2<3", "l1_0>0<4", "l1_1>2<5"),
            ],
        ),
        # What only one L1 needs is joined there; what two L1s of an L2 have is joined in it.
        (
            (0, 2, 8),
            (9,),
            [
                *("0>l1_0", "2>l1_1", "8>l1_4", "l1_0>l2_0<0", "l1_1>l2_0<1", "l2_0>l3<3<4"),
                *("l3>l2_1<5", "l2_1>l1_4<6", "l1_4>9<2<7"),
            ],
        ),
        # A multicast forks as low as it can.
        (
            (0,),
            (1, 2, 8),
            [
                *("0>l1_0", "l1_0>l2_0<0", "l2_0>l1_1<1", "l2_0>l3<1", "l3>l2_1<3"),
                *("l2_1>l1_4<4", "l1_0>1<0", "l1_1>2<2", "l1_4>8<5"),
            ],
        ),
    ],
)
def test_flow_joins_and_forks_at_the_level_it_needs(
    tmp_path: Path, sources: tuple[int, ...], targets: tuple[int, ...], expected: list[str]
) -> None:
    assert links(tall(tmp_path), sources, targets) == expected


def test_layout_has_a_row_for_each_level(tmp_path: Path) -> None:
    wafer = tall(tmp_path)
    place = wafer.layout()
    assert len(set(place.values())) == len(place) == len(wafer.nodes)
    heights = [{place[node][1] for node in row} for row in wafer.levels]
    assert heights == [{280.0}, {160.0}, {40.0}]
    assert min(place[npu][1] for npu in range(10)) == 420.0


def test_interpolated_latency_is_that_of_the_interconnect_by_levels(tmp_path: Path) -> None:
    text = (
        "kind: fred\nl1:\n  - {count: 2, npus: NPUS, io_controllers: 4, record: l1-12}\n"
        "l2_record: l2-10\nl1_l2_bytes_per_s: 12e12\nin_network: true\ninterpolate: true\n"
    )
    # FRED_3(16) has as many levels as FRED_3(12); FRED_3(17) has one more, of 1 + 2 + 1 cycles.
    for npus, ports, more in ((7, None, 0), (11, 16, 0), (12, 17, 4), (28, 33, 8)):
        path = written(tmp_path / f"{npus}.yaml", text.replace("NPUS", str(npus)))
        use = parse_topology(str(path)).provenance.records[0]
        assert use.interpolated_ports == ports
        measured = load_record("l1-12").latency_cycles
        assert use.latency_cycles == measured + more, "L(P) = (a + s) + L(P / 2) + s"


def test_flow_of_several_is_refused_without_in_network_collectives() -> None:
    with pytest.raises(ValueError, match=r"^fred-a has no in-network collectives$"):
        fred("a").hops((0, 1), (2,))


def test_layout_puts_switches_above_what_hangs_on_them() -> None:
    wafer = fred("d")
    place = wafer.layout()
    assert len(set(place.values())) == len(place) == len(wafer.nodes)
    assert place[wafer.top_node][1] < place[wafer.l1_nodes[0]][1] == 160.0
    for switch in wafer.l1_nodes:
        ends = [place[node] for node, own in wafer.switch_of.items() if own == switch]
        assert {y for _, y in ends} == {300.0, 334.0}
        across = [x for x, _ in ends]
        assert place[switch] == ((min(across) + max(across)) / 2, 160.0)
    middle = sum(place[switch][0] for switch in wafer.l1_nodes) / 5
    assert place[wafer.top_node] == (middle, 40.0)
