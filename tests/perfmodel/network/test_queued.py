"""Tests of perfmodel.network.queued."""

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.themis.network import SHARED, queue_dimensions
from perfmodel.collectives.themis.plan import POLICIES
from perfmodel.collectives.themis.queues import LATENCY_MODES
from perfmodel.collectives.themis.run import Queuing, run_chunks
from perfmodel.network.queued import run_queued
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import parse_topology
from tests.docs.pages import ROOT


def test_result_of_a_mesh() -> None:
    result = run_queued(parse_topology("mesh:5x4", "ideal"), "all_reduce", 2.0**30)
    assert result.ideal_s == pytest.approx(2 * 19 / 20 * 2**30 / 1.5e12)
    assert result.utilization == result.ideal_s / result.time_s
    assert 0.97 < result.utilization < 0.99
    assert result.bytes_per_npu == pytest.approx(2 * 19 / 20 * 2**30)
    assert [one.bytes for one in result.dimensions] == pytest.approx([0.95 * 2**30] * 2, rel=0.02)
    assert all(0.97 < one.busy_share <= 1 for one in result.dimensions)
    assert len(result.chunk_orders) == len(result.chunk_bytes) == result.chunks == 64
    assert {*result.chunk_orders} == {(0, 1), (1, 0)}


def test_a_tree_is_said_to_share_links() -> None:
    for topology, shares in (("fred-d", True), ("mesh:5x4", False)):
        result = run_queued(parse_topology(topology), "all_reduce", 1e6)
        assert (SHARED in result.provenance.assumptions) is shares


GIB = 2.0**30


@pytest.mark.parametrize("policy", POLICIES)
def test_an_npu_sends_no_faster_than_its_link_on_a_tree(policy: str) -> None:
    fred = parse_topology("fred-d", "ideal")
    simulated_s = run_collective(fred, "all_reduce", GIB, algorithm=policy).time_s
    for latency in LATENCY_MODES:
        result = run_queued(fred, "all_reduce", GIB, how=Queuing(policy, latency=latency))
        assert result.time_s >= 2 * 19 / 20 * GIB / 3e12
        assert result.time_s == pytest.approx(simulated_s, rel=0.02)


def test_page_has_the_times_of_a_tree() -> None:
    fred = parse_topology("fred-d")
    shared_s = run_queued(fred, "all_reduce", GIB).time_s
    _, services = run_chunks(queue_dimensions(fred, range(20)), GIB, "all_reduce", Queuing())
    independent_s = max(one.done_s for one in services)
    npu_s = 2 * 19 / 20 * GIB / 3e12
    page = " ".join((ROOT / "docs/how-to/themis.md").read_text("utf-8").split())
    assert f"`fred-d` takes {1e6 * shared_s:.0f} µs" in page
    assert f"Independent dimensions would take {1e6 * independent_s:.0f} µs" in page
    assert f"allows no less than {1e6 * npu_s:.0f} µs" in page


@pytest.mark.parametrize("group", [[0, 0], [0, 20], [3]], ids=["twice", "beyond", "alone"])
def test_bad_groups_are_refused(group: list[int]) -> None:
    with pytest.raises(InputError, match=r"^group: must h(ave|old) "):
        run_queued(parse_topology("fred-d"), "all_reduce", 1e6, group)


@pytest.mark.parametrize("size", [0.0, float("nan"), float("inf"), -1.0])
def test_bad_sizes_are_refused(size: float) -> None:
    with pytest.raises(InputError, match=r"^size: must be above 0 bytes, not "):
        run_queued(parse_topology("fred-d"), "all_reduce", size)
