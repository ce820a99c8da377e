"""Tests of perfmodel.workloads.all_reduce."""

from pathlib import Path

import pytest
import yaml

from fred_hw.errors import InputError
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import parse_topology
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import Workload, build_workload

EXAMPLE = Path(__file__).parents[3] / "examples/all-reduce.yaml"


def of(parameters: int) -> Workload:
    data = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")) | {"parameters": parameters}
    return build_workload(data, "all-reduce")


@pytest.mark.parametrize("parameters", [512, 8_388_608, 2**29])
@pytest.mark.parametrize("fabric", ["fred-c", "fred-d", "mesh:5x4"])
def test_iteration_is_the_all_reduce_of_its_gradients(fabric: str, parameters: int) -> None:
    topology = parse_topology(fabric)
    found = estimate(Request.of(topology, of(parameters)))
    alone = run_collective(topology, "all_reduce", 2.0 * parameters, algorithm="published")
    assert found.compute_s == found.busy_s == 0
    assert found.iteration_time_s == found.exposed_s.dp == pytest.approx(alone.time_s)


def test_data_parallelism_is_the_group() -> None:
    topology = parse_topology("fred-d")
    two, twenty = (
        estimate(Request.of(topology, of(2**20), f"MP1-DP{group}-PP1")) for group in (2, 20)
    )
    assert 0 < two.iteration_time_s < twenty.iteration_time_s


def test_an_all_reduce_of_one_npu_is_refused() -> None:
    said = "^strategy: must give the iteration work or communication, not MP1-DP1-PP1$"
    with pytest.raises(InputError, match=said):
        estimate(Request.of(parse_topology("fred-d"), of(2**20), "MP1-DP1-PP1"))
