"""Tests of perfmodel.topology.blocks."""

import re
from collections.abc import Sequence
from itertools import combinations, permutations
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from fred_hw.mesh.plan import MeshPlan
from perfmodel.network.run import run_collective
from perfmodel.topology.block import Block
from perfmodel.topology.blocks import BlocksTopology
from perfmodel.topology.parse import parse_topology
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from tests.records import shipped
from tests.written import written

GIB = 1 << 30
RING, FULL, SWITCH = (
    Block("ring", 4, 100e9, 1e-6),
    Block("fully_connected", 4, 50e9, 2e-6),
    Block("switch", 4, 200e9, 3e-6),
)


GOOD = "{block: ring, npus: 4, bytes_per_s: 1e9, latency_s: 0}"


def stack(*blocks: Block) -> BlocksTopology:
    return BlocksTopology(name="blocks", blocks=blocks)


@pytest.mark.parametrize(
    ("blocks", "links", "switches", "bisection"),
    [
        ((RING,), 8, 0, 200e9),
        ((FULL,), 12, 0, 200e9),
        ((SWITCH,), 8, 1, 400e9),
        ((RING, RING), 64, 0, 800e9),  # a torus of 4 x 4
        ((RING, FULL, SWITCH), 16 * 8 + 16 * 12 + 16 * 8, 16, 3200e9),
        ((Block("ring", 2, 100e9, 0.0), RING), 4 * 2 + 2 * 8, 0, 400e9),
    ],
)
def test_links_of_every_line(
    blocks: Sequence[Block], links: int, switches: int, bisection: float
) -> None:
    found = stack(*blocks)
    assert len(found.links) == links
    assert sum(node.kind == "switch" for node in found.nodes) == switches
    assert found.bisection_bytes_per_s() == pytest.approx(bisection)
    places = found.layout()
    assert len(places) == len(found.nodes)
    for (x0, y0), (x1, y1) in combinations(places.values(), 2):  # boxes of 48 x 28 at most
        assert abs(x0 - x1) >= 50 or abs(y0 - y1) >= 30


@pytest.mark.parametrize(("name", "sizes"), [("torus:4x3", [4, 3]), ("Torus:2x3x4", [2, 3, 4])])
def test_name_of_a_torus_stands_for_rings_of_the_links_of_the_mesh(
    name: str, sizes: list[int]
) -> None:
    torus, mesh = parse_topology(name), parse_topology("mesh:2x2")
    assert [dimension.npus for dimension in torus.dimensions] == sizes
    assert all(dimension.kind == "ring" for dimension in torus.dimensions)
    rates = {(one.bytes_per_s, one.latency_s) for one in torus.links}
    assert rates == {(mesh.links[0].bytes_per_s, mesh.links[0].latency_s)}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torus:1x4", r"torus:1x4: blocks\.0\.npus: must be an integer from 2 to 65536, not 1"),
        ("torus:999x99", r"torus:999x99: blocks: must have at most 65536 NPUs, not 98901"),
        ("torus:4", r"topology: must be one of .*torus:COLUMNSxROWS.*, not 'torus:4'"),
    ],
)
def test_impossible_torus_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        parse_topology(name)


@pytest.mark.parametrize(
    ("source", "target", "latency_s"),
    [
        (0, 1, 1e-6),
        (0, 3, 1e-6),  # the shorter way round
        (0, 2, 2e-6),
        (0, 4, 2e-6),
        (0, 12, 2e-6),
        (0, 16, 6e-6),  # through a switch
        (63, 0, 1e-6 + 2e-6 + 6e-6),
    ],
)
def test_route_goes_through_the_dimensions_one_after_the_other(
    source: int, target: int, latency_s: float
) -> None:
    found = stack(RING, FULL, SWITCH)
    hops = found.hops((source,), (target,))
    assert found.latency_s(hops) == pytest.approx(latency_s)
    assert found.links[hops[0][0]].source == source
    assert found.links[hops[-1][0]].target == target


def test_blocks_neither_join_nor_fork() -> None:
    with pytest.raises(ValueError, match=r"^blocks has no in-network collectives$"):
        stack(RING).hops((0, 1), (2,))


@pytest.mark.parametrize(
    ("blocks", "algorithm", "seconds"),
    [
        # Bytes on the busiest link: a ring both ways, all pairs at once, a switch.
        ((RING,), "hierarchical", 2 * 3 / 4 / 2 * GIB / 100e9),
        ((FULL,), "hierarchical", 2 / 4 * GIB / 50e9),
        ((SWITCH,), "hierarchical", 2 * 3 / 4 * GIB / 200e9),
        # The inner rings carry all, the outer ones a quarter; in turns both carry the mean.
        ((RING, RING), "hierarchical", 3 / 4 * GIB / 100e9),
        ((RING, RING), "hierarchical_turns", 3 / 4 * (1 + 1 / 4) / 2 * GIB / 100e9),
    ],
)
def test_hierarchical_all_reduce_is_bounded_by_its_busiest_link(
    blocks: Sequence[Block], algorithm: str, seconds: float
) -> None:
    found = run_collective(stack(*blocks), "all_reduce", GIB, algorithm=algorithm)
    assert seconds <= found.time_s * (1 + 1e-9) <= 1.03 * seconds
    auto = run_collective(stack(*blocks), "all_reduce", GIB)
    assert auto.time_s <= found.time_s


@pytest.mark.parametrize("blocks", [(RING, RING), (RING, RING, RING), (FULL, FULL)])
def test_ring_goes_from_neighbour_to_neighbour(blocks: Sequence[Block]) -> None:
    found = stack(*blocks)
    order = found.ring_order(range(found.npus))
    assert sorted(order) == list(range(found.npus))
    assert order[0] == 0
    for source, target in zip(order, [*order[1:], order[0]], strict=True):
        assert len(found.hops((source,), (target,))) == 1


def test_record_of_an_interconnect_alone_leaves_the_links_whole(tmp_path: Path) -> None:
    written(tmp_path / "own.json", shipped("l1-12") | {"switch": None})
    path = written(
        tmp_path / "ring.yaml", f"kind: blocks\nlink_record: own.json\nblocks: [{GOOD}]\n"
    )
    wafer = parse_topology(str(path))
    assert ({link.efficiency for link in wafer.links}, wafer.protocol) == ({1.0}, "measured")
    text = "links of blocks have all of their rate: record own.json is of an interconnect alone"
    assert wafer.provenance.assumptions[1:] == (text,)


EXAMPLE = Path("examples/torus-64.yaml")


def test_file_says_rates_and_memory_of_its_npus() -> None:
    found = parse_topology(str(EXAMPLE), "ideal")
    assert found.npus == found.io_controllers == 64
    assert found.npu_rates == {"peak_flops": 312e12, "hbm_bytes_per_s": 2e12, "hbm_bytes": 80e9}
    job = load_workload("resnet-152")
    slow = estimate(Request.of(found, job, "MP1-DP64-PP1"))
    assert slow.memory.available_bytes == 80e9
    found.npu_rates = {}
    assert estimate(Request.of(found, job, "MP1-DP64-PP1")).busy_s < slow.busy_s


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blocks: []", "blocks: must have 1 or more entries, not []"),
        (
            "blocks: [{block: star, npus: 4, bytes_per_s: 1e9, latency_s: 0}]",
            "blocks.0.block: must be one of ring, torus, fully_connected, switch, not 'star'",
        ),
        (
            f"blocks: [{GOOD}, {{block: ring, npus: 1, bytes_per_s: 1e9, latency_s: 0}}]",
            "blocks.1.npus: must be an integer from 2 to 65536, not 1",
        ),
        (
            "blocks: [{block: torus, npus: 4, bytes_per_s: 1e9, latency_s: 0}]",
            "blocks.0.npus: must list the NPUs along each dimension of a torus, not 4",
        ),
        (
            "blocks: [{block: torus, npus: [512, 129], bytes_per_s: 1e9, latency_s: 0}]",
            "blocks: must have at most 65536 NPUs, not 66048",
        ),
        (
            "blocks: [{block: fully_connected, npus: 5000, bytes_per_s: 1e9, latency_s: 0}]",
            "blocks: must have at most 16777216 links, not 24995000",
        ),
        (
            f"blocks: [{GOOD}]\nnpu: {{peak_flops: 0}}",
            "npu.peak_flops: must be a number from 1 to 1e+24, not 0",
        ),
        (
            f"blocks: [{GOOD}]\nnpu: {{flops: 1}}",
            "npu.flops: unknown key; allowed are peak_flops, hbm_bytes_per_s, hbm_bytes",
        ),
    ],
)
def test_bad_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path / "bad.yaml", f"kind: blocks\n{text}\n")
    with pytest.raises(InputError, match=rf"^{re.escape(f'{path}: {message}')}"):
        parse_topology(str(path))


@pytest.mark.parametrize(("columns", "rows"), [(3, 3), (4, 4), (5, 4), (4, 1)])
def test_routes_of_a_torus_are_those_of_its_hardware(columns: int, rows: int) -> None:
    plan = MeshPlan(width=columns, height=rows, controllers=False, routing="dateline", wrap=True)
    blocks = [Block("ring", size, 100e9, 0.0) for size in (columns, rows) if size > 1]
    topology = stack(*blocks)
    for source, target in permutations(range(plan.npus), 2):
        links = [topology.links[link] for link, _ in topology.hops([source], [target])]
        _, *routers = plan.route(source, target)
        assert [one.source for one in links] == [one.number for one in routers[:-1]]
        assert (links[-1].target, routers[-1].number) == (target, target)
