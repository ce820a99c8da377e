"""Tests of perfmodel.network.roce.workload."""

import pytest

from perfmodel.collectives.select import build_schedule
from perfmodel.network.roce.parameters import RoceFile
from perfmodel.network.roce.simulate import simulate
from perfmodel.network.roce.workload import workload_of
from perfmodel.topology.clos import Clos, clos_file

_TOPOLOGY = clos_file(Clos(gpus_per_leaf=8, latency_us=(0.5,))).build("switch")


@pytest.mark.parametrize("algorithm", ["ring", "direct", "halving_doubling"])
@pytest.mark.parametrize("pattern", ["all_reduce", "all_to_all", "all_gather"])
def test_items_take_as_long_as_their_messages(pattern: str, algorithm: str) -> None:
    if (pattern, algorithm) == ("all_to_all", "halving_doubling"):
        algorithm = "direct"
    times: list[float] = []
    for lockstep in (True, False):
        group = [list(range(8))]
        schedule = build_schedule(_TOPOLOGY, pattern, group, 1.0, algorithm, lockstep=lockstep)
        work = workload_of(schedule, 8e5)
        times.append(simulate(_TOPOLOGY, work, RoceFile()).time_s)
    assert times[0] == pytest.approx(times[1], rel=0.03)


def test_a_ring_takes_its_steps() -> None:
    schedule = build_schedule(_TOPOLOGY, "all_reduce", [list(range(8))], 1.0, "ring", lockstep=True)
    work = workload_of(schedule, 8e6)
    assert sum(work.size) == 14 * 8 * 1_000_000
    found = simulate(_TOPOLOGY, work, RoceFile(train_packets=1))
    step_ns = 1000 * 1048 / 25 + 1048 / 25 + 2 * 500
    assert 1e9 * found.time_s == pytest.approx(14 * step_ns)
