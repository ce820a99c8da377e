"""Tests of the compute models with a factor: scaled and peak."""

import re

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compute import PEAK_FLOPS
from perfmodel.training.compute_model import COMPUTE_MODELS, compute_model
from perfmodel.training.estimate import Estimate, estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload


def run(compute: str) -> Estimate:
    job = load_workload("transformer-17b")
    return estimate(Request.of(shared_topology("fred-d", "ideal"), job, compute=compute))


@pytest.mark.parametrize(("text", "factor"), [("8", 8), ("0.5", 0.5), ("1e3", 1000)])
def test_scaled_divides_the_times_of_the_roofline(text: str, factor: float) -> None:
    roofline, found = run("first-principles"), run(f"scaled:{text}")
    assert found.busy_s == pytest.approx(roofline.busy_s / factor)
    assert found.compute_model == f"scaled:{text}"
    assert any(f"{factor:g} times as fast" in one for one in found.provenance.assumptions)


def test_peak_has_operations_alone() -> None:
    job = load_workload("transformer-17b")
    found = run("peak:8")
    flops = 3 * job.network.forward_flops * 16 * 3 / 18  # of one of two stages that are not equal
    assert found.busy_s == pytest.approx(flops / (8 * PEAK_FLOPS), rel=0.05)
    assert found.peak_share == pytest.approx(8, rel=0.05)
    assert found.busy_s == pytest.approx(run("peak:4").busy_s / 2)


@pytest.mark.parametrize(
    "kind", [name.removesuffix(":K") for name in COMPUTE_MODELS if name.endswith(":K")]
)
@pytest.mark.parametrize(
    "text", ["", "0", "-1", "nan", "inf", "x", "1e-7", "1e7", "8:2", "1_0", "\uff11"]
)
def test_factors_that_are_none_are_refused(kind: str, text: str) -> None:
    message = rf"^compute: must be {kind}:K with K from 1e-06 to 1e\+06, not '{kind}:{text}'$"
    with pytest.raises(InputError, match=message):
        compute_model(f"{kind}:{text}")


@pytest.mark.parametrize("name", ["scaled", "peak", "weights:2", "calibrated:", "scale:2"])
def test_other_names_are_refused(name: str) -> None:
    allowed = re.escape(", ".join(COMPUTE_MODELS))
    with pytest.raises(InputError, match=rf"^compute: must be one of {allowed}, not '{name}'"):
        compute_model(name)
