"""A mesh of one row or one column is a wafer as any other."""

import pytest

from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import parse_topology
from perfmodel.training.request import Request
from perfmodel.training.strategies import feasible, sweep
from perfmodel.workloads.workload import load_workload, with_batch

LINES = ("mesh:5x1", "mesh:1x5", "mesh:1x2", "mesh:2x1")


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", [*LINES, "mesh:64x1", "mesh:1x64"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_crosses_links(name: str, pattern: str) -> None:
    found = run_collective(parse_topology(name), pattern, 1e6)
    assert 0 < found.time_s < 1
    assert found.bottleneck.utilisation > 0


@pytest.mark.parametrize("name", LINES)
def test_every_algorithm_that_fits_takes_a_time(name: str) -> None:
    wafer = parse_topology(name)
    members = range(wafer.npus)
    fitting = [
        one
        for one, algorithm in ALGORITHMS.items()
        if "all_reduce" in algorithm.patterns and algorithm.fits(wafer, members)
    ]
    assert "ring" in fitting
    for one in fitting:
        assert run_collective(wafer, "all_reduce", 1e6, None, None, one).time_s > 0


@pytest.mark.parametrize("name", LINES)
def test_every_strategy_is_estimated(name: str) -> None:
    wafer, job = parse_topology(name), load_workload("resnet-152")
    rows = sweep([Request.of(wafer, with_batch(job, 4, 1))], feasible(job, wafer.npus))
    assert rows
    assert all(row.estimate.iteration_time_s > 0 for row in rows)
