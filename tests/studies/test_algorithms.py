"""Tests of all algorithms on all topologies."""

from itertools import groupby, pairwise, product
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.guidelines import stages_of
from perfmodel.collectives.themis.plan import POLICIES
from perfmodel.collectives.themis.run import Queuing
from perfmodel.network.queued import run_queued
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import parse_topology
from studies.algorithms import (
    PATTERNS_COMPARED,
    SIZES_COMPARED_BYTES,
    TOPOLOGIES_COMPARED,
    catching_up,
    compare_algorithms,
    winners,
    wires_bytes_per_s,
)

PAGE = Path(__file__).parents[2] / "docs/explanation/algorithms.md"
SIZE = 16 * 2.0**20


def table() -> str:
    """Return the table of the page: times [us] of the fastest algorithms."""
    topologies = [parse_topology(name) for name in TOPOLOGIES_COMPARED]
    wires = [f"{wires_bytes_per_s(one) / 1e12:g}" for one in topologies]
    lines = [
        f"| collective | {' | '.join(TOPOLOGIES_COMPARED)} |",
        f"| --- |{' --- |' * len(topologies)}",
        f"| wires [TB/s] | {' | '.join(wires)} |",
    ]
    rows = winners(compare_algorithms(topologies, PATTERNS_COMPARED, SIZES_COMPARED_BYTES, [None]))
    for (pattern, size, _), found in groupby(rows, key=lambda row: row.collective):
        words = "64 KiB" if size < 2**20 else "16 MiB" if size < 2**30 else "1 GiB"
        cells = [
            f"{mark}{row.time_s * 1e6:,.2f}{mark} {row.algorithm}"
            for row in found
            for mark in ("**" if row.of_all else "",)
        ]
        lines.append(f"| {pattern}, {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


@pytest.mark.slow
def test_page_has_the_times_that_are_found() -> None:
    assert table() in PAGE.read_text()


@pytest.mark.parametrize(
    ("name", "wires"), [("mesh:5x4", 31 * 0.75e12), ("torus:5x4", 40 * 0.75e12), ("fred-d", 120e12)]
)
def test_wires_are_the_rates_of_links_without_io(name: str, wires: float) -> None:
    assert wires_bytes_per_s(parse_topology(name)) == pytest.approx(wires)


def test_each_algorithm_has_the_time_of_the_collective_alone() -> None:
    topologies = [parse_topology(name) for name in ("mesh:3x2", "torus:3x2")]
    rows = compare_algorithms(topologies, ["all_reduce", "all_to_all"], [SIZE], [None, (0, 1, 2)])
    assert len({(row.collective, row.topology) for row in rows}) == 8
    for row in rows:
        topology = next(one for one in topologies if one.name == row.topology)
        asked = (row.pattern, row.size_bytes, row.group)
        if row.algorithm in POLICIES:
            alone = run_queued(topology, *asked, Queuing(row.algorithm))
        else:
            alone = run_collective(topology, *asked, algorithm=row.algorithm)
        assert row.time_s == alone.time_s, row
        assert row.algorithm in ALGORITHMS or stages_of(row.algorithm, row.pattern)
    assert "multitree" in {row.algorithm for row in rows}


def test_fastest_ones_are_marked() -> None:
    topologies = [parse_topology(name) for name in ("mesh:5x4", "fred-c", "fred-d")]
    rows = compare_algorithms(topologies, ["all_reduce"], [SIZE], [None])
    for _, found in groupby(rows, key=lambda row: row.topology):
        of_topology = list(found)
        assert all(a.time_s <= b.time_s for a, b in pairwise(of_topology))
        least_s = of_topology[0].time_s
        assert all(row.on_topology == (row.time_s == least_s) for row in of_topology)
    (best,) = (row for row in rows if row.of_all)
    assert (best.topology, best.algorithm, best.in_network) == ("fred-d", "in_network", True)
    assert [row.topology for row in winners(rows)] == [one.name for one in topologies]


def test_what_the_page_and_the_report_say_of_the_torus_and_fred_d() -> None:
    torus, fred = (parse_topology(name) for name in ("torus:5x4", "fred-d"))
    assert wires_bytes_per_s(fred) == pytest.approx(4 * wires_bytes_per_s(torus))
    over = {
        pattern: [
            next(one.time_s for one in rows if one.topology == topology.name)
            for topology in (torus, fred)
            for rows in [compare_algorithms([torus, fred], [pattern], [2.0**30], [None])]
        ]
        for pattern in PATTERNS_COMPARED
    }
    ratio = {pattern: a / b for pattern, (a, b) in over.items()}
    assert ratio["all_reduce"] == pytest.approx(1.95, abs=0.005)
    assert 1 < ratio["reduce_scatter"] <= 1.02 and 1 < ratio["all_gather"] <= 1.02
    assert ratio["all_to_all"] > 3 and ratio["broadcast"] == pytest.approx(2, rel=0.01)


def test_page_has_the_times_with_queues_and_on_links() -> None:
    torus = parse_topology("torus:5x4")
    queued = run_queued(torus, "all_reduce", SIZE, how=Queuing("themis"))
    on_links = run_collective(torus, "all_reduce", SIZE, algorithm="themis")
    text = f"{queued.time_s * 1e6:.2f} µs with queues and {on_links.time_s * 1e6:.2f} µs on links"
    assert text in PAGE.read_text("utf-8")


def test_cheaper_networks_catch_up_where_switches_save_no_bytes() -> None:
    topologies = [parse_topology(name) for name in ("mesh:5x4", "torus:5x4", "fred-d")]
    rows = compare_algorithms(topologies, PATTERNS_COMPARED, SIZES_COMPARED_BYTES[:2], [None])
    found = [(row.pattern, row.size_bytes, row.topology) for row in catching_up(rows)]
    small, medium = SIZES_COMPARED_BYTES[:2]
    assert found == [
        ("reduce_scatter", small, "torus:5x4"),
        ("reduce_scatter", medium, "torus:5x4"),
        ("all_gather", small, "torus:5x4"),
        ("all_gather", medium, "torus:5x4"),
        ("all_to_all", small, "mesh:5x4"),
    ]
    near = next(row for row in rows if row.topology == "torus:5x4" and row.pattern == "all_gather")
    assert near not in catching_up([row for row in rows if row.topology != "fred-d"])


@pytest.mark.parametrize(("plain", "reducing"), [("fred-a", "fred-b"), ("fred-c", "fred-d")])
def test_what_the_report_says_of_the_bytes_that_npus_send(plain: str, reducing: str) -> None:
    """An all-reduce in switches sends the vector once; endpoints send 19/20 of it twice."""
    sent = {
        (name, pattern): run_collective(parse_topology(name), pattern, SIZE).bytes_per_npu / SIZE
        for name in (plain, reducing)
        for pattern in ("all_reduce", "reduce_scatter", "all_gather")
    }
    assert sent[reducing, "all_reduce"] == pytest.approx(1.0)
    assert sent[plain, "all_reduce"] == pytest.approx(2 * 19 / 20)
    for pattern in ("reduce_scatter", "all_gather"):
        assert sent[reducing, pattern] >= sent[plain, pattern] * (1 - 1e-9)


def test_automatic_choice_is_never_faster_than_the_fastest() -> None:
    for name, pattern in product(("mesh:5x4", "fred-a", "fred-d"), PATTERNS_COMPARED):
        topology = parse_topology(name)
        for size in (64.0, SIZE):
            rows = compare_algorithms([topology], [pattern], [size], [(0, 1, 5, 6)])
            chosen = run_collective(topology, pattern, size, (0, 1, 5, 6))
            assert rows[0].time_s <= chosen.time_s


def test_all_npus_must_be_equally_many() -> None:
    topologies = [parse_topology(name) for name in ("mesh:2x2", "fred-d")]
    with pytest.raises(InputError, match="4 of mesh:2x2 and 20 of fred-d"):
        compare_algorithms(topologies, ["all_reduce"], [SIZE], [None])
    rows = compare_algorithms(topologies, ["all_reduce"], [SIZE], [(0, 1)])
    assert {row.topology for row in rows} == {"mesh:2x2", "fred-d"}
