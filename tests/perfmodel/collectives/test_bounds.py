"""Tests of perfmodel.collectives.bounds: bytes by hand."""

import pytest

from perfmodel.collectives.bounds import (
    any_s,
    free,
    latency_s,
    scattered_s,
    sent_s,
    volume_s,
    waits_s,
)
from perfmodel.topology.mesh import MeshTopology
from perfmodel.topology.parse import shared_topology

MESH = MeshTopology(
    name="mesh", columns=3, rows=1, link_bytes_per_s=1e9, io_bytes_per_s=1e9, link_latency_s=0.0
)
"""Three NPUs in a row, each with a neighbour or an I/O controller on four sides."""


@pytest.mark.parametrize(("pattern", "times"), [("all_reduce", 2), ("broadcast", 1)])
def test_copies_are_shared_out_among_all_links_of_members(pattern: str, times: int) -> None:
    assert MESH.sent_bytes_per_s == MESH.received_bytes_per_s == (1e9, 2e9, 1e9)
    assert volume_s(MESH, pattern, [range(3)], 6e9) == pytest.approx(times * 2 * 6 / 4)
    assert free(MESH, pattern, [range(3)], 6e9) == 0.0


@pytest.mark.parametrize(
    ("pattern", "group", "seconds"),
    [
        ("all_reduce", [0, 1, 2], 6),  # the NPUs at the ends have one link
        ("reduce_scatter", [0, 1, 2], 4),
        ("all_gather", [0, 1, 2], 4),
        ("all_to_all", [0, 1, 2], 4),
        ("broadcast", [1, 0, 2], 6),
        ("broadcast", [0, 1], 6),
        ("reduce", [0, 1], 6),
        ("reduce", [1, 0], 6),
    ],
)
def test_what_any_member_gives_or_is_to_have_crosses_its_links(
    pattern: str, group: list[int], seconds: float
) -> None:
    assert any_s(MESH, pattern, [group], 6e9) == pytest.approx(seconds)


def test_latency_is_that_of_the_farthest_members() -> None:
    wafer = shared_topology("fred-c")
    near_s, far_s = (wafer.latency_s(wafer.hops((0,), (npu,))) for npu in (1, 19))
    for pattern in ("broadcast", "reduce", "all_to_all"):
        assert latency_s(wafer, pattern, [range(20)]) == far_s
        assert latency_s(wafer, pattern, [[0, 1]]) == near_s
        assert latency_s(wafer, pattern, [[0, 1], [2, 18]]) == far_s
    assert any_s(wafer, "broadcast", [range(20)], 1.0) == far_s
    assert scattered_s(wafer, "all_reduce", [range(20)], 1.0) == 2 * far_s
    assert scattered_s(wafer, "all_gather", [range(20)], 1.0) < far_s
    assert waits_s(wafer, "all_gather", [range(20)], 19) == pytest.approx(18 * 2 * far_s)
    assert waits_s(MESH, "all_gather", [range(3)], 2) == 0.0


def test_messages_of_an_npu_share_its_first_links() -> None:
    assert sent_s(MESH, 0, [(1, 1e9), (2, 2e9)]) == pytest.approx(3.0)
    assert sent_s(MESH, 1, [(0, 1e9), (2, 2e9)]) == pytest.approx(2.0)
    assert sent_s(MESH, 1, []) == 0.0
