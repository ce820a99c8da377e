"""Tests of perfmodel.collectives.algorithms.hierarchical: broadcasts and reduces by hand."""

import pytest

from perfmodel.collectives.select import build_schedule
from perfmodel.network.run import run_collective
from perfmodel.topology.blocks import BlocksFile
from perfmodel.topology.graph import Topology


def stacked(*blocks: str) -> Topology:
    """Return three NPUs along each of some blocks, with links of 1 GB/s and no latency."""
    file = {
        "kind": "blocks",
        "protocol": "ideal",
        "blocks": [
            {"block": block, "npus": 3, "bytes_per_s": 1e9, "latency_s": 0.0} for block in blocks
        ],
        "io_bytes_per_s": 1e9,
    }
    return BlocksFile.model_validate(file).build("blocks")


def test_a_root_scatters_along_each_dimension_and_all_gather_backwards() -> None:
    members = [4, *(npu for npu in range(9) if npu != 4)]  # in the middle of both dimensions
    topology = stacked("ring", "ring")
    there, back = (
        build_schedule(topology, pattern, [members], 36.0, "hierarchical").transfers
        for pattern in ("broadcast", "reduce")
    )
    scattered = [(one.sources[0], one.targets[0], one.payload_bytes) for one in there[:8]]
    # Half of the data: two thirds of it go to the next in the row, a third to the one behind it;
    # then each of them does the same in its column.
    row, columns = [(4, 5, 12.0), (5, 3, 6.0)], [(4, 7, 4.0), (3, 6, 4.0), (5, 8, 4.0)]
    columns += [(7, 1, 2.0), (6, 0, 2.0), (8, 2, 2.0)]
    assert scattered == row + columns
    gathered = [(one.targets[0], one.sources[0], one.payload_bytes) for one in back[-8:]]
    assert sorted(gathered[-2:], reverse=True) == sorted(
        [(4, 3, 12.0), (3, 5, 6.0)], reverse=True
    )  # the other way around
    assert len(there) == len(back) == 2 * (8 + 2 * 2 * 9)


@pytest.mark.parametrize("pattern", ["broadcast", "reduce"])
def test_a_ring_scatters_and_gathers_half_of_the_data_each_way(pattern: str) -> None:
    found = run_collective(stacked("ring"), pattern, 3e9, algorithm="hierarchical", chunks=1)
    # 1 GB and 0.5 GB from or to the root one after the other; 0.5 GB twice around the ring.
    assert found.time_s == pytest.approx(1.5 + 1.0)
    assert found.bottleneck.carried_bytes == pytest.approx(2e9)


@pytest.mark.parametrize("pattern", ["broadcast", "reduce"])
def test_a_root_on_a_switch_sends_each_member_its_own(pattern: str) -> None:
    found = run_collective(stacked("switch"), pattern, 3e9, algorithm="hierarchical", chunks=1)
    # The root has two thirds to send or to receive alone, and then as all have.
    assert found.time_s == pytest.approx(4.0)
