"""Tests of utilization in perfmodel.training.moved and perfmodel.topology.link_dimensions."""

from collections import Counter

import pytest

from perfmodel.network.fluid.task import Profile, Task
from perfmodel.network.fluid.tasks import Simulation
from perfmodel.topology.link_dimensions import IO, link_dimensions
from perfmodel.topology.parse import shared_topology
from perfmodel.training.counted import counted
from perfmodel.training.energy import read_energy
from perfmodel.training.estimate import estimate
from perfmodel.training.moved import TopologyLinks, figures, moved_by
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from tests.perfmodel.training.carried import carried

NAMES = {
    "mesh:5x4": {"1: line of 5": 32, "2: line of 4": 30, IO: 36},
    "fred-d": {"1: switch of 4": 40, "2: switch of 5": 10, IO: 36},
    "torus:4x4": {"1: ring of 4": 32, "2: ring of 4": 32},
    "examples/switches-8x8x8.yaml": {f"{i}: switch of 8": 1024 for i in (1, 2, 3)},
    "examples/fc-ring-switch.yaml": {
        "1: fully_connected of 8": 7168,
        "2: ring of 16": 2048,
        "3: switch of 8": 2048,
    },
    "examples/links-6.yaml": {"NPU to switch": 6, "NPU to NPU": 12},
}


@pytest.mark.parametrize("topology", NAMES)
def test_links_belong_to_dimensions(topology: str) -> None:
    assert Counter(link_dimensions(shared_topology(topology))) == NAMES[topology]


def test_a_link_is_used_for_the_bytes_that_it_carries() -> None:
    fabric = shared_topology("torus:4x4", "ideal")
    rate = fabric.links[0].payload_bytes_per_s
    tasks = [Task("mp", 0, "a", Profile(2.0, ((0, rate),))), Task("pp", 0, "b", Profile(0.5))]
    run = Simulation(tasks, fabric.capacities).run(1.0)
    moved = moved_by(counted(tasks, run), 1)
    found = figures(read_energy("wafer"), TopologyLinks(fabric), run.time_s, moved)
    assert found.utilization
    first, second = found.utilization
    assert carried(found) == {"npu_npu": rate}
    name = link_dimensions(fabric)[0]
    used, idle = (first, second) if first.dimension == name else (second, first)
    assert (used.links, used.bytes, used.peak, used.average) == (32, rate, 0.5, 0.5 / 32)
    assert (idle.peak, idle.average) == (0.0, 0.0)


@pytest.mark.parametrize("topology", ["mesh:5x4", "fred-a", "fred-d"])
@pytest.mark.parametrize("workload", ["resnet-152", "transformer-17b", "gpt-3"])
def test_no_link_is_used_for_more_than_the_iteration(topology: str, workload: str) -> None:
    found = estimate(Request.of(shared_topology(topology), load_workload(workload)))
    uses = found.utilization or ()
    for one in uses:
        assert 0 <= one.average <= one.peak <= 1 + 1e-9
    assert max(one.peak for one in uses) > 0
