"""Tests of testbench.characterize_saturation."""

import pytest

from fred_hw.mesh.spec import MeshSpec
from testbench.characterize_saturation import capacity, senders, set_ups


@pytest.mark.parametrize(
    ("pattern", "flows", "sending"),
    [
        # Of 64 ends 32 send 32 of 63 flits each over the eight links across the middle.
        ("uniform", 32 * 32 / 63 / 8, 64),
        ("transpose", 7, 56),  # all of a row but the one on the diagonal turn there
        ("tornado", 3, 64),
        ("complement", 4, 64),
    ],
)
def test_capacity_is_what_the_busiest_link_allows(pattern: str, flows: float, sending: int) -> None:
    for routing in ("xy", "odd_even"):
        mesh = MeshSpec(width=8, height=8, routing=routing)
        assert capacity(mesh, pattern) == pytest.approx(1 / flows)
        assert senders(mesh, pattern) == sending


def test_room_is_that_of_the_published_router_or_that_of_the_defaults() -> None:
    room = {one.flits: one.mesh.protocol.buffer_flits for one in set_ups()}
    usual = MeshSpec(width=8, height=8).protocol
    assert room == {5: 65, 10: 60, usual.packet_flits: usual.buffer_flits}
