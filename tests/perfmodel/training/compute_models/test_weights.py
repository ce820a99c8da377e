"""Tests of perfmodel.training.compute_models.weights."""

from dataclasses import replace

import pytest

from perfmodel.published import SPEEDUP_C, SPEEDUP_D
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compare import compare
from perfmodel.training.compute import Npu
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request, read_requests
from perfmodel.workloads.workload import load_workload


@pytest.mark.parametrize(
    ("workload", "share", "readings"),
    [("resnet-152", 1, 3), ("transformer-17b", 6, 3), ("gpt-3", 4, 4), ("transformer-1t", 1, 4)],
)
def test_compute_is_a_reading_of_the_weights_per_microbatch_and_pass(
    workload: str, share: int, readings: int
) -> None:
    """Forward once and backward twice, and once more where activations are recomputed."""
    job = load_workload(workload)
    found = estimate(Request.of(shared_topology("fred-d", "ideal"), job, compute="weights"))
    by_hand = readings * 2 * job.network.parameters / share * job.microbatches / 3e12
    # Stages do not always cut a network into equal parts, and no NPU has less than the share.
    assert found.busy_s == pytest.approx(by_hand, rel=0.02)
    assert any("read each weight" in text for text in found.provenance.assumptions)
    assert not any("roofline" in text for text in found.provenance.assumptions)


def test_samples_take_no_time_and_memory_bandwidth_sets_it() -> None:
    job, fabric = load_workload("resnet-152"), shared_topology("fred-d", "ideal")
    usual = estimate(Request.of(fabric, job, compute="weights")).busy_s
    more = replace(job, samples_per_replica=64)
    assert estimate(Request.of(fabric, more, compute="weights")).busy_s == usual
    fast = estimate(Request.of(fabric, job, npu=Npu(hbm_bytes_per_s=6e12), compute="weights"))
    assert fast.busy_s == pytest.approx(usual / 2)


@pytest.mark.parametrize("workload", ["resnet-152", "transformer-17b"])
def test_two_workloads_come_out_with_nothing_fitted(workload: str) -> None:
    rows = compare(
        read_requests(
            ["mesh:5x4", "fred-c", "fred-d"], [workload], protocol="ideal", compute="weights"
        )
    )
    for row, figure in zip(rows[1:], (SPEEDUP_C, SPEEDUP_D), strict=True):
        assert row.speedup == pytest.approx(figure[workload].value, rel=0.05)
        assert row.estimate.compute_scale == 1.0
