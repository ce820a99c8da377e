"""Tests of perfmodel.collectives.algorithms.multicasts: bytes by hand."""

import pytest

from perfmodel.collectives.bounds import latency_s
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import shared_topology


@pytest.mark.parametrize("topology", ["fred-a", "fred-c", "fred-d", "mesh:5x4"])
def test_each_member_sends_its_share_once(topology: str) -> None:
    wafer = shared_topology(topology, "ideal")
    found = run_collective(wafer, "all_gather", 20.0, algorithm="multicasts")
    assert found.bytes_per_npu == pytest.approx(1.0)
    latency = latency_s(wafer, "all_gather", [range(20)])
    assert found.time_s == pytest.approx(latency, rel=1e-3)


def test_links_to_npus_carry_the_shares_of_all_others() -> None:
    found = run_collective(
        shared_topology("fred-a", "ideal"), "all_gather", 20e9, algorithm="multicasts"
    )
    carried = {one.link: one.carried_bytes for one in found.links}
    assert carried["npu_0 -> l1_0"] == pytest.approx(1e9)
    assert carried["l1_0 -> npu_0"] == pytest.approx(19e9)
    assert carried["l1_0 -> l2"] == pytest.approx(4e9)
