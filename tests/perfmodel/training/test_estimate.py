"""Tests of perfmodel.training.estimate."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.parse import parse_topology, shared_topology
from perfmodel.training.compute import EFFICIENCY, Npu
from perfmodel.training.estimate import Estimate, estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload, with_batch
from tests.written import written


def run(
    topology: str,
    workload: str,
    strategy: str | None = None,
    protocol: str = "measured",
    **more: object,
) -> Estimate:
    fabric = shared_topology(topology, protocol)  # type: ignore[arg-type]
    request = Request.of(fabric, load_workload(workload), strategy, **more)  # type: ignore[arg-type]
    return estimate(request)


@pytest.mark.parametrize(
    ("topology", "published_s"), [("mesh:5x4", 152e-6), ("fred-c", 76e-6), ("fred-d", 40e-6)]
)
def test_gradients_of_resnet_take_the_time_that_the_paper_implies(
    topology: str, published_s: float
) -> None:
    found = run(topology, "resnet-152", protocol="ideal")
    assert found.exposed_s.dp == pytest.approx(published_s, rel=0.03)


def test_iteration_is_compute_and_exposed_communication() -> None:
    result = run("fred-d", "transformer-17b")
    assert result.iteration_time_s == result.compute_s + result.exposed_s.total_s
    assert result.time_per_sample_s == result.iteration_time_s / 48
    assert (result.minibatch, result.placement, len(result.npus)) == (48, "linear", 18)


def test_chunks_with_the_least_loaded_dimension_first_take_no_longer() -> None:
    fixed, themis, ring = (
        run("mesh:5x4", "resnet-152", algorithm=name).exposed_s.dp
        for name in ("dimension_order", "themis", "ring")
    )
    assert 0.5 * fixed < themis < 0.8 * fixed
    assert ring > themis


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
        estimate(Request.of(shared_topology("fred-d"), job))
    message = (
        r"^transformer-1t: mode: must leave memory for the layers being computed, "
        r"not need [\d.]+ GB of 50 GB as MP1-DP20-PP1$"
    )
    with pytest.raises(InputError, match=message):
        run("fred-d", "transformer-1t", npu=Npu(hbm_bytes=50e9))


@pytest.mark.parametrize("placement", ["auto", "anneal", "linear"])
def test_memory_is_checked_before_anything_is_simulated(
    placement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> None:
        pytest.fail("simulated before the memory was checked")

    monkeypatch.setattr("perfmodel.training.estimate.default_placement", late)
    job = replace(load_workload("gpt-3"), mode="stationary")
    with pytest.raises(InputError, match=r"^gpt-3: mode: must be streaming where weights"):
        estimate(Request.of(shared_topology("mesh:5x4"), job, placement=placement))


def test_other_compute_models_are_refused() -> None:
    with pytest.raises(InputError, match=r"^compute: must be one of .*, not 'guessed'$"):
        run("fred-d", "gpt-3", compute="guessed")
    job = replace(load_workload("gpt-3"), name="mine.yaml")
    message = r"^compute: must be first-principles for mine\.yaml; calibrated needs one of .*gpt-3"
    with pytest.raises(InputError, match=message):
        estimate(Request.of(shared_topology("fred-d"), job, compute="calibrated"))


def test_batch_that_does_not_divide_is_refused() -> None:
    message = r"^gpt-3: microbatches: must be a divisor of 16 samples per replica, not 3$"
    with pytest.raises(InputError, match=message):
        with_batch(load_workload("gpt-3"), 16, 3)


@pytest.mark.parametrize(
    ("samples", "microbatches", "message"),
    [
        (16, 0, "microbatches: must be 1 to 1048576, not 0"),
        (16, -4, "microbatches: must be 1 to 1048576, not -4"),
        (16, 2.0, r"microbatches: must be an integer, not 2\.0"),
        (-16, 2, "samples_per_replica: must be 1 to 1048576, not -16"),
        (0, 2, "samples_per_replica: must be 1 to 1048576, not 0"),
    ],
)
def test_batch_without_samples_or_pieces_is_refused(
    samples: int, microbatches: int, message: str
) -> None:
    with pytest.raises(InputError, match=f"^gpt-3: {message}$"):
        with_batch(load_workload("gpt-3"), samples, microbatches)


@pytest.mark.parametrize(("strategy", "passes"), [("MP1-DP20-PP1", 4), ("MP4-DP5-PP1", 3)])
def test_share_of_the_peak_is_that_of_the_operations_worked_by_hand(
    strategy: str, passes: int
) -> None:
    # 20 NPUs share three passes' worth of operations of all samples, four if recomputed.
    result = run("fred-d", "transformer-17b", strategy)
    flops = passes * load_workload("transformer-17b").network.forward_flops * result.minibatch / 20
    assert result.peak_share == pytest.approx(flops / result.busy_s / 989.4e12)
    assert result.peak_share is not None
    assert 0.6 < result.peak_share < EFFICIENCY["matmul"]


MESH = "kind: mesh\ncolumns: 5\nrows: 4\n"
FRED = """\
kind: fred
l1:
  - {count: 5, npus: 4, io_controllers: 4, record: l1-12}
l2_record: l2-10
l1_l2_bytes_per_s: 12e12
in_network: true
"""


def wafer(folder: Path, text: str) -> str:
    return str(written(folder / "wafer.yaml", text))


@pytest.mark.parametrize("text", [MESH, FRED], ids=["mesh", "fred"])
def test_wafer_from_a_file_is_estimated(tmp_path: Path, text: str) -> None:
    result = run(wafer(tmp_path, text), "resnet-152")
    assert result.topology == str(tmp_path / "wafer.yaml")
    assert result.iteration_time_s > result.compute_s > 0


@pytest.mark.parametrize("value", ["0", "-1", ".nan", "0.5", ".inf"])
@pytest.mark.parametrize(
    ("text", "field"),
    [
        (MESH, "link_bytes_per_s"),
        (MESH, "io_bytes_per_s"),
        (FRED.replace("l1_l2_bytes_per_s: 12e12\n", ""), "l1_l2_bytes_per_s"),
        (FRED, "npu_l1_bytes_per_s"),
    ],
)
def test_links_without_bandwidth_are_refused(
    tmp_path: Path, text: str, field: str, value: str
) -> None:
    path = wafer(tmp_path, f"{text}{field}: {value}\n")
    given = value.removeprefix(".")
    message = f"{path}: {field}: must be a number from 1 to 1e+24, not {given}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        parse_topology(path)


def test_unknown_field_of_a_wafer_is_refused(tmp_path: Path) -> None:
    path = wafer(tmp_path, FRED + "wafers: 2\n")
    with pytest.raises(InputError, match=rf"^{re.escape(path)}: wafers: unknown key; allowed are "):
        parse_topology(path)


def test_wafer_without_io_controllers_is_refused(tmp_path: Path) -> None:
    path = wafer(tmp_path, FRED.replace("io_controllers: 4", "io_controllers: 0"))
    with pytest.raises(InputError, match=r"must have I/O controllers"):
        run(path, "resnet-152")


def test_verdict_of_what_fits_only_recomputed_is_given_and_not_refused() -> None:
    result = run("fred-d", "gpt-3")
    assert result.memory_verdict == result.memory.verdict == "fits if recomputed"


@pytest.mark.parametrize("mode", ["stationary", "streaming"])
def test_refused_mode_is_the_field_that_is_named(mode: str) -> None:
    job = replace(load_workload("transformer-1t"), mode=mode)
    with pytest.raises(InputError) as caught:
        estimate(Request.of(shared_topology("fred-d"), job, npu=Npu(hbm_bytes=1e9)))
    assert (caught.value.source, caught.value.field) == ("transformer-1t", "mode")


@pytest.mark.parametrize(
    ("option", "field"), [("placement", "placement"), ("algorithm", "algorithm")]
)
def test_unknown_option_is_refused(option: str, field: str) -> None:
    with pytest.raises(InputError, match=rf"^{field}: must be one of .*, not 'best'$"):
        run("mesh:5x4", "resnet-152", **{option: "best"})


def test_samples_and_microbatches_of_another_batch() -> None:
    job = with_batch(load_workload("gpt-3"), 40, 8)
    assert (job.samples_per_replica, job.microbatches) == (40, 8)
    assert estimate(Request.of(shared_topology("fred-d"), job)).minibatch == 40 * 5


def test_assumptions_are_those_of_the_mode_and_the_strategy() -> None:
    stationary, streaming = (
        " ".join(run("fred-d", name).provenance.assumptions) for name in ("resnet-152", "gpt-3")
    )
    assert "ZeRO stage 2" in stationary and "storage keeps up" not in stationary
    assert "storage keeps up" in streaming and "ZeRO stage 2" not in streaming
    assert "Megatron-LM" in streaming and "Megatron-LM" not in stationary


def test_exposed_time_of_transformer_17b_has_its_bubble_by_itself() -> None:
    # docs/explanation/wafer-model.md, "Exposed time".
    found = run("fred-d", "transformer-17b")
    assert found.rank == 0 and found.strategy == "MP3-DP3-PP2"
    exposed_s = found.exposed_s
    assert exposed_s.total_s == pytest.approx(found.iteration_time_s - found.compute_s)
    assert exposed_s.total_s == pytest.approx(71.8e-3, abs=5e-5)
    assert exposed_s.bubble == pytest.approx(61.2e-3, abs=5e-5)
    parts = dict(found.critical_path_s)
    assert parts.pop("compute") + sum(parts.values()) == pytest.approx(found.iteration_time_s)
    assert sum(parts.values()) == pytest.approx(10.7e-3, abs=5e-5)
