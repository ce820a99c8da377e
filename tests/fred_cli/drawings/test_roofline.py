"""Tests of fred_cli.drawings.roofline."""

import pytest

from fred_cli.drawings.roofline import roofline
from perfmodel.training.compute import Npu
from perfmodel.workloads.workload import load_workload

NPU = Npu(peak_flops=100e12, hbm_bytes_per_s=1e12)


@pytest.mark.parametrize("name", ["resnet-152", "transformer-17b"])
def test_no_operator_is_above_its_bound(name: str) -> None:
    points = roofline(load_workload(name), 1, NPU)
    assert sum(point.share for point in points) == pytest.approx(1)
    assert [point.time_s for point in points] == sorted((p.time_s for p in points), reverse=True)
    for point in points:
        memory = point.intensity * NPU.hbm_bytes_per_s
        compute = NPU.peak_flops * NPU.efficiency[point.kind]
        assert point.rate_flops == pytest.approx(min(memory, compute))
        assert point.bound == ("memory" if memory <= compute else "compute")


@pytest.mark.parametrize(("name", "mp"), [("transformer-17b", 3), ("gpt-3", 1)])
def test_times_are_those_of_the_forward_pass(name: str, mp: int) -> None:
    workload = load_workload(name)
    samples = workload.samples_per_replica / workload.microbatches
    want = sum(
        NPU.pass_s(operator, samples, mp)
        for layer in workload.network.layers
        for operator in layer.operators
    )
    assert sum(point.time_s for point in roofline(workload, mp, NPU)) == pytest.approx(want)


def test_equal_operators_of_all_layers_are_one_point() -> None:
    names = [point.name for point in roofline(load_workload("transformer-17b"), 1, NPU)]
    assert len(names) == len(set(names)) < 20
    assert sum(name.endswith(" x 78") for name in names) >= 5
