"""Tests of perfmodel.collectives.bounds: bytes by hand."""

import pytest

from perfmodel.collectives.bounds import free, sent_s, volume_s
from perfmodel.topology.mesh import MeshTopology

MESH = MeshTopology(
    name="mesh", columns=3, rows=1, link_bytes_per_s=1e9, io_bytes_per_s=1e9, link_latency_s=0.0
)
"""Three NPUs in a row; the ends have one neighbour, the one between has two."""


@pytest.mark.parametrize(("pattern", "times"), [("all_reduce", 2), ("broadcast", 1)])
def test_copies_are_shared_out_among_all_links_of_members(pattern: str, times: int) -> None:
    rates = [MESH.sent_bytes_per_s[npu] for npu in range(3)]
    assert rates[1] - rates[0] in (0.0, pytest.approx(1e9), pytest.approx(-1e9))
    wanted = times * 2 * 6e9 / sum(rates)
    assert volume_s(MESH, pattern, [range(3)], 6e9) == pytest.approx(wanted)
    assert free(MESH, pattern, [range(3)], 6e9) == 0.0


def test_messages_of_an_npu_share_its_first_links() -> None:
    assert sent_s(MESH, 0, [(1, 1e9), (2, 2e9)]) == pytest.approx(3.0)
    assert sent_s(MESH, 1, [(0, 1e9), (2, 2e9)]) == pytest.approx(2.0)
    assert sent_s(MESH, 1, []) == 0.0
