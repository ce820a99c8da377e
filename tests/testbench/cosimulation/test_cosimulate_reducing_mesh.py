"""A mesh of routers that reduce and multicast in co-simulation, against the golden model."""

from pathlib import Path

import pytest

from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.protocol import ProtocolSpec
from testbench.cosimulation.cosimulate_mesh import cosimulate_reducing_mesh

pytestmark = pytest.mark.sim

SMALL = ReducingMeshSpec(
    width=2, height=2, controllers=False, lanes=1, format="fp16", protocol=ProtocolSpec(phases=4)
)
QUICK = [
    "all_reduce_is_reduced_at_any_router",
    "unicasts_go_between_packets_of_a_collective",
    "phases_of_a_set_without_a_cycle_run_together",
    "phases_with_a_cycle_of_waits_stop",
    "unicasts_on_the_channel_of_turning_trees_stop",
    "lone_flit_takes_as_long_at_every_router_of_a_size",
]


@pytest.mark.slow
def test_collectives_and_unicasts_pass_a_small_mesh(tmp_path: Path) -> None:
    found = cosimulate_reducing_mesh(SMALL, tmp_path, packets=2, seed=2, tests=QUICK)
    assert [(test.name, test.message) for test in found.failures] == []
    assert len(found.tests) == len(QUICK) + 1  # all-reduces also with streams that pause
    assert found.measurements["longest_route_cycles"] == 48  # of three routers


@pytest.mark.slow(45)
def test_concurrent_flows_pass_routers_of_all_sizes(tmp_path: Path) -> None:
    mesh = SMALL.with_changes(width=3, height=3)  # routers of three, four and five ports
    tests = [
        "flows_without_common_links_run_at_once",
        "unicasts_go_between_packets_of_a_collective",
    ]
    found = cosimulate_reducing_mesh(mesh, tmp_path, packets=1, tests=tests)
    assert [(test.name, test.message) for test in found.failures] == []
    assert len(found.tests) == len(tests)


@pytest.mark.slow
@pytest.mark.long
def test_timeout_ends_a_cycle_of_waits(tmp_path: Path) -> None:
    protocol = SMALL.protocol.with_changes(head_of_line_timeout_cycles=2048)
    mesh = SMALL.with_changes(protocol=protocol)
    tests = ["phases_with_a_cycle_of_waits_stop"]
    found = cosimulate_reducing_mesh(mesh, tmp_path, packets=2, tests=tests)
    assert [(test.name, test.message) for test in found.tests if not test.passed] == []
    assert len(found.tests) == 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("shape", [(3, 2), (1, 3), (3, 3)])
def test_all_benches_pass(shape: tuple[int, int], tmp_path: Path) -> None:
    mesh = SMALL.with_changes(width=shape[0], height=shape[1])
    found = cosimulate_reducing_mesh(mesh, tmp_path, packets=1)
    assert [(test.name, test.message) for test in found.failures] == []
    assert len(found.tests) == (11 if min(shape) > 1 else 10)
