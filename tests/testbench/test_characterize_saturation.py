"""Tests of testbench.characterize_saturation."""

import pytest

from fred_hw.mesh.spec import MeshSpec
from studies.saturation import load_saturation
from testbench.characterize_saturation import (
    MEASURE,
    WARM,
    capacity,
    measured_row,
    senders,
    set_ups,
)
from testbench.volume.loaded_mesh import build_mesh


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


def test_space_is_that_of_the_published_router_or_that_of_the_defaults() -> None:
    space = {one.flits: one.mesh.protocol.buffer_flits for one in set_ups()}
    usual = MeshSpec(width=8, height=8).protocol
    assert space == {5: 65, 10: 60, usual.packet_flits: usual.buffer_flits}


def test_shipped_record_has_every_curve_with_its_loads() -> None:
    record = load_saturation()
    assert (record.warm_cycles, record.measured_cycles) == (WARM, MEASURE)
    assert len(record.curves) == len(set_ups())
    for one, curve in zip(set_ups(), record.curves, strict=True):
        assert (curve.pattern, curve.routing) == (one.pattern, one.routing)
        assert (curve.packet_flits, curve.buffer_flits) == (
            one.flits,
            one.mesh.protocol.buffer_flits,
        )
        assert curve.capacity == pytest.approx(capacity(one.mesh, one.pattern), abs=1e-6)
        shares = [row.share for row in curve.rows]
        assert shares == list(one.shares[: len(shares)])
        assert len(shares) == len(one.shares) or not one.whole
        assert curve.full.offered == 1


REMEASURED = [("uniform", "xy", 0.7), ("transpose", "odd_even", 0.6)]
REMEASURED.append(("transpose", "odd_even_adaptive", 0.7))


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.long  # 64 routers to compile; smaller loaded meshes are in volume/test_loaded_mesh.py
@pytest.mark.parametrize(("pattern", "routing", "share"), REMEASURED)
def test_shipped_load_is_what_is_measured_now(pattern: str, routing: str, share: float) -> None:
    """To the cycle, where queues are full; `make bench` measures all loads."""
    record = load_saturation()
    [one] = [
        one for one in set_ups() if (one.pattern, one.routing, one.flits) == (pattern, routing, 5)
    ]
    [shipped] = [
        row.model_dump() for row in record.curve(pattern, routing, 5).rows if row.share == share
    ]
    assert measured_row(build_mesh(one.mesh), one, share, record.seed) == shipped
