"""Tests of perfmodel.topology.fred."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.published import BISECTION
from perfmodel.switch_timing.record import RECORDS, load_record
from perfmodel.topology.fred import FredTopology
from perfmodel.topology.parse import parse_topology


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
    up = wafer.links[wafer.link_index[wafer.l1_nodes[4], wafer.l2_node]]
    assert (up.bytes_per_s, up.latency_s) == (uplink, 20e-9)
    assert wafer.links[wafer.link_index[0, wafer.l1_nodes[0]]].bytes_per_s == 3e12


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


def test_routing_assumption_is_stated_where_switches_reduce() -> None:
    routed = "flows that are active at once are routed without conflict in every switch"
    assert routed in fred("d").provenance.assumptions
    assert routed not in fred("c").provenance.assumptions


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
    assert "urgent flows go before others at once, which was measured as after 5 cycle(s)" in said
    ideal = parse_topology("fred-d", "ideal").provenance.assumptions
    assert not set(said[1:]) & set(ideal)
    assert ideal[-1].startswith("protocol ideal: ")


def test_records_of_interconnects_alone_are_named(tmp_path: Path) -> None:
    record = json.loads((RECORDS / "l1-12.json").read_text(encoding="utf-8"))
    record |= {"switch": None, "reconfiguration_cycles": 4}
    (tmp_path / "own.json").write_text(json.dumps(record), encoding="utf-8")
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
        (
            (0, 1, 4),
            (4,),
            ["0>l1_0", "1>l1_0", "4>l1_1", "l1_0>l2<0<1", "l2>l1_1<3", "l1_1>4<2<4"],
        ),
        ((0,), (1, 4), ["0>l1_0", "l1_0>l2<0", "l2>l1_1<1", "l1_0>1<0", "l1_1>4<2"]),
    ],
)
def test_flow_joins_and_forks_where_it_can(
    sources: tuple[int, ...], targets: tuple[int, ...], expected: list[str]
) -> None:
    assert links(fred("d"), sources, targets) == expected


def test_flow_of_several_is_refused_without_in_network_collectives() -> None:
    with pytest.raises(ValueError, match=r"^fred-a has no in-network collectives$"):
        fred("a").hops((0, 1), (2,))


def test_layout_puts_switches_above_what_hangs_on_them() -> None:
    wafer = fred("d")
    place = wafer.layout()
    assert len(set(place.values())) == len(place) == len(wafer.nodes)
    assert place[wafer.l2_node][1] < place[wafer.l1_nodes[0]][1] == 160.0
    for switch in wafer.l1_nodes:
        ends = [place[node] for node, own in wafer.switch_of.items() if own == switch]
        assert {y for _, y in ends} == {300.0, 334.0}
        across = [x for x, _ in ends]
        assert place[switch] == ((min(across) + max(across)) / 2, 160.0)
    middle = sum(place[switch][0] for switch in wafer.l1_nodes) / 5
    assert place[wafer.l2_node] == (middle, 40.0)
