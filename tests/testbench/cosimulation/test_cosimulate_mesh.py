"""Meshes in co-simulation, with the reference endpoint on all of their links."""

from pathlib import Path

import pytest

from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import ProtocolSpec
from testbench.cosimulation.cosimulate_mesh import cosimulate_mesh
from testbench.cosimulation.launch import Options
from testbench.faults.fault import Fault, noticed_by
from testbench.sim.runner import SimulationResult
from testbench.stimulus.meshes import with_routing

pytestmark = pytest.mark.sim

PROTOCOL = ProtocolSpec(
    phases=1,
    packet_flits=4,
    buffer_packets=6,
    round_trip_cycles=8,
    ack_interval=2,
    window_packets=16,
    timeout_cycles=300,
    nack_timeout_cycles=40,
    packet_timeout_cycles=20,
    head_of_line_timeout_cycles=512,
)
SMALL = MeshSpec(width=2, height=2, controllers=False, lanes=1, format="int16", protocol=PROTOCOL)
OTHERS = [
    with_routing(SMALL.with_changes(width=3, height=3), one)
    for one in ROUTINGS
    if one != SMALL.routing
]
RING = with_routing(SMALL.with_changes(width=4, height=1), "dateline")
COLUMN = SMALL.with_changes(width=1, height=2, controllers=True)
TURNED = "pattern_goes_through_on_all_circuits/pattern=transpose"
BESIDE = [
    TURNED,
    "traffic_to_one_npu_does_not_block_another_channel",
    "urgent_packet_overtakes_others_at_every_router",
    "dead_ends_hold_up_nobody",
    "ack_takes_as_long_at_every_router",
]
"""What turns of packets and a third end are something to; a column runs all others.

Compiled meshes have the other patterns, see tests/testbench/volume/test_loaded_mesh.py.
"""
QUICK = ["every_end_sends_to_every_end", "random_traffic_comes_through_faults"]
TRAFFIC = [*QUICK, TURNED, "traffic_to_one_npu_does_not_block_another_channel"]


def names(found: SimulationResult) -> set[str]:
    """Return the names of tests that ran, with the pattern of the one that has such."""
    return {one.name if one.name == TURNED else one.name.partition("/")[0] for one in found.tests}


@pytest.mark.slow
@pytest.mark.long  # the next test has these benches with another seed
def test_small_mesh_carries_everything_through_faults(tmp_path: Path) -> None:
    found = cosimulate_mesh(SMALL, tmp_path, packets=2, tests=QUICK)
    assert [(test.name, test.message) for test in found.failures] == []
    assert len(found.tests) == len(QUICK)


@pytest.mark.slow
def test_ring_of_a_torus_carries_everything_through_faults(tmp_path: Path) -> None:
    found = cosimulate_mesh(RING, tmp_path, packets=1, tests=QUICK)
    assert [(test.name, test.message) for test in found.failures] == []
    assert len(found.tests) == len(QUICK)


@pytest.mark.slow
def test_packets_turn(tmp_path: Path) -> None:
    found = cosimulate_mesh(SMALL, tmp_path, seed=2, tests=BESIDE)
    assert [(test.name, test.message) for test in found.failures] == []
    assert names(found) == set(BESIDE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mesh",
    [
        pytest.param(SMALL, id="two by two", marks=pytest.mark.long),
        *(
            pytest.param(mesh, id=f"{mesh.routing} of three by three", marks=pytest.mark.long)
            for mesh in OTHERS
        ),
        pytest.param(COLUMN, id="a column with controllers"),
        pytest.param(COLUMN.with_changes(height=3), id="a longer column", marks=pytest.mark.long),
    ],
)
def test_all_benches_pass(mesh: MeshSpec, tmp_path: Path) -> None:
    found = cosimulate_mesh(mesh, tmp_path, seed=2)
    assert [(test.name, test.message) for test in found.failures] == []
    assert len(found.tests) > 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "mesh",
    [
        # Those whose sources choose turn as all others do.
        pytest.param(
            mesh, id=mesh.routing, marks=[] if ROUTINGS[mesh.routing].chooses else pytest.mark.long
        )
        for mesh in OTHERS
        if not mesh.wrap
    ],
)
def test_traffic_passes_where_packets_may_turn_either_way(mesh: MeshSpec, tmp_path: Path) -> None:
    # What ends do wrong is the same to every routing, and tested above.
    less = mesh.with_changes(height=2)  # columns of both kinds, and rows to turn into
    # Sources that choose routes change them as often as they may, which takes longer.
    tests = QUICK if ROUTINGS[mesh.routing].chooses else TRAFFIC
    found = cosimulate_mesh(less, tmp_path, packets=1, seed=2, tests=tests)
    assert [(test.name, test.message) for test in found.failures] == []
    assert names(found) == set(tests)


FAULTS = noticed_by("mesh")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_broken_router_is_noticed(fault: Fault, tmp_path: Path) -> None:
    options = Options(faults=list(FAULTS), fault=fault, tests=[FAULTS[fault]])
    found = cosimulate_mesh(SMALL, tmp_path, packets=2, **options)
    assert len(found.failures) == len(found.tests) == 1
