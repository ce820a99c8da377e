"""Endpoints of a mesh whose sources choose routes, back to back: when they may change them."""

from functools import cache
from pathlib import Path

import pytest

from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import ProtocolSpec
from testbench.faults.fault import Fault, FaultyEmitter, noticed_by
from testbench.volume.link import LinkRun, build_link, run_link

pytestmark = [pytest.mark.sim, pytest.mark.slow]

FAULTS = noticed_by("link of a mesh")
BREAKABLE = FaultyEmitter(FAULTS)
# From corner to corner there are two routes in both directions.
MESH = MeshSpec(
    width=3,
    height=2,
    controllers=False,
    lanes=2,
    routing="odd_even_adaptive",
    protocol=ProtocolSpec(ack_interval=4, round_trip_cycles=20, timeout_cycles=200),
)


@cache
def link() -> Path:
    return build_link(MESH.link, BREAKABLE)


@pytest.mark.parametrize("seed", range(3))
def test_sources_change_ways_and_nothing_is_ever_under_way_on_another(seed: int) -> None:
    plain = run_link(link(), LinkRun(flits=30_000, seed=seed, stall_percent=30 * seed, rounds=3))
    assert plain["right"], plain
    assert plain["rewinds"] == plain["dropped"] == 0
    assert plain["changes"] > 50
    faulty = run_link(
        link(),
        LinkRun(
            flits=60_000,
            seed=seed,
            faults_per_million=5_000,
            stall_percent=20,
            link_stall_percent=10 * seed,
            delay=3 + 12 * seed,
            rounds=6,
        ),
    )
    assert faulty["right"], faulty
    assert faulty["rewinds"] > 20
    assert faulty["changes"] > 50


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_source_that_changes_too_early_is_noticed(fault: Fault) -> None:
    run = LinkRun(
        flits=60_000, faults_per_million=5_000, rounds=3, plusargs=BREAKABLE.plusargs(fault)
    )
    found = run_link(link(), run)
    assert not found["right"]
    assert any(FAULTS[fault] in message for message in found["messages"])
    assert found["matched"] == found["flits"]  # a link has one route, which stays in order
