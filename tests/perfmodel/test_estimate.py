"""Tests of perfmodel.estimate and calibration."""

from dataclasses import replace

import pytest

from fred_hw.errors import InputError
from perfmodel.calibration import calibrate
from perfmodel.compute import EFFICIENCY, Npu
from perfmodel.estimate import Estimate, estimate, with_batch
from perfmodel.published import SPEEDUP_C, SPEEDUP_D
from perfmodel.topology.parse import parse_topology
from perfmodel.workload import WORKLOADS, load_workload


def run(topology: str, workload: str, strategy: str | None = None, **more: object) -> Estimate:
    return estimate(parse_topology(topology), load_workload(workload), strategy, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("topology", "published_s"), [("mesh:5x4", 152e-6), ("fred-c", 76e-6), ("fred-d", 40e-6)]
)
def test_gradients_of_resnet_take_the_time_that_the_paper_implies(
    topology: str, published_s: float
) -> None:
    assert run(topology, "resnet-152").exposed_s.dp == pytest.approx(published_s, rel=0.03)


def test_iteration_is_compute_and_exposed_communication() -> None:
    result = run("fred-d", "transformer-17b")
    assert result.iteration_time_s == result.compute_s + result.exposed_s.total_s
    assert result.time_per_sample_s == result.iteration_time_s / 48
    assert (result.minibatch, result.placement, len(result.npus)) == (48, "linear", 18)


def test_one_replica_has_no_gradients_to_exchange() -> None:
    result = run("mesh:5x4", "transformer-17b", "MP20-DP1-PP1")
    assert result.exposed_s.dp == 0.0
    assert result.strategy == "MP20-DP1-PP1"


def test_streaming_has_no_gradient_all_reduce() -> None:
    result = run("mesh:5x4", "gpt-3")
    assert result.exposed_s.dp == 0.0 and result.communication_s["dp"] == 0.0
    assert result.communication_s["weight_streaming"] > 0
    assert any("storage keeps up" in text for text in result.provenance.assumptions)


def test_provenance_has_records_and_assumptions() -> None:
    provenance = run("fred-d", "resnet-152").provenance
    assert [use.record for use in provenance.records] == ["l1-12", "l1-11", "l2-10"]
    assert any("roofline" in text for text in provenance.assumptions)
    assert not any("calibrated" in text for text in provenance.assumptions)


def test_lower_efficiency_changes_compute_only() -> None:
    half = {kind: share / 2 for kind, share in EFFICIENCY.items()}
    slow, fast = (run("fred-d", "resnet-152", npu=npu) for npu in (Npu(efficiency=half), Npu()))
    assert slow.compute_s > fast.compute_s
    assert slow.exposed_s.dp == pytest.approx(fast.exposed_s.dp)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_calibration_reaches_fred_c_and_predicts_fred_d(workload: str) -> None:
    found = calibrate(workload)
    assert found.reached and found.published == SPEEDUP_C[workload].value
    mesh, c, d = (
        run(name, workload, compute="calibrated") for name in ("mesh:5x4", "fred-c", "fred-d")
    )
    speedup = mesh.iteration_time_s / c.iteration_time_s
    assert speedup == pytest.approx(SPEEDUP_C[workload].value, rel=1e-3)
    predicted = mesh.iteration_time_s / d.iteration_time_s
    assert predicted == pytest.approx(SPEEDUP_D[workload].value, rel=0.05)
    assert c.compute_model == "calibrated" and c.compute_scale == found.scale
    assert any("compute is calibrated" in text for text in c.provenance.assumptions)


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("MP3-DP3-PP3", "must fit the 20 NPUs of fred-d, not need 27 as MP3-DP3-PP3"),
        ("MP3-DP3", "must be like MP2-DP5-PP2, not 'MP3-DP3'"),
    ],
)
def test_impossible_strategy_is_refused(strategy: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^strategy: {message}$") as caught:
        run("fred-d", "transformer-17b", strategy)
    assert caught.value.field == "strategy"


def test_model_that_fits_no_memory_is_refused() -> None:
    job = replace(load_workload("gpt-3"), mode="stationary")
    message = (
        r"^gpt-3: mode: must be streaming where weights and optimizer do not fit, "
        r"not need [\d.]+ GB of 80 GB as MP2-DP5-PP2$"
    )
    with pytest.raises(InputError, match=message):
        estimate(parse_topology("fred-d"), job)
    message = (
        r"^transformer-1t: mode: must leave room for the layers at work, "
        r"not need [\d.]+ GB of 50 GB as MP1-DP20-PP1$"
    )
    with pytest.raises(InputError, match=message):
        run("fred-d", "transformer-1t", npu=Npu(hbm_bytes=50e9))


def test_other_compute_models_are_refused() -> None:
    with pytest.raises(InputError, match=r"^compute: must be one of .*, not 'guessed'$"):
        run("fred-d", "gpt-3", compute="guessed")
    job = replace(load_workload("gpt-3"), name="mine.yaml")
    message = r"^compute: must be first-principles for mine\.yaml; calibrated needs one of .*gpt-3"
    with pytest.raises(InputError, match=message):
        estimate(parse_topology("fred-d"), job, compute="calibrated")


def test_batch_that_does_not_divide_is_refused() -> None:
    message = r"^gpt-3: microbatches: must divide 16 samples per replica, not be 3$"
    with pytest.raises(InputError, match=message):
        with_batch(load_workload("gpt-3"), 16, 3)
