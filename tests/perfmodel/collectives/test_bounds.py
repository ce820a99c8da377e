"""Tests of perfmodel.collectives.bounds: bytes by hand."""

import pytest

from perfmodel.collectives.bounds import free, sent_s, volume_s
from perfmodel.topology.mesh import MeshTopology

MESH = MeshTopology(
    name="mesh", columns=3, rows=1, link_bytes_per_s=1e9, io_bytes_per_s=1e9, link_latency_s=0.0
)
"""Three NPUs in a row, each with a neighbour or an I/O controller on four sides."""


@pytest.mark.parametrize(("pattern", "times"), [("all_reduce", 2), ("broadcast", 1)])
def test_copies_are_shared_out_among_all_links_of_members(pattern: str, times: int) -> None:
    assert MESH.sent_bytes_per_s == (4e9,) * 3
    assert volume_s(MESH, pattern, [range(3)], 6e9) == pytest.approx(times * 2 * 6 / 12)
    assert free(MESH, pattern, [range(3)], 6e9) == 0.0


def test_messages_of_an_npu_share_its_first_links() -> None:
    assert sent_s(MESH, 0, [(1, 1e9), (2, 2e9)]) == pytest.approx(3.0)
    assert sent_s(MESH, 1, [(0, 1e9), (2, 2e9)]) == pytest.approx(2.0)
    assert sent_s(MESH, 1, []) == 0.0
