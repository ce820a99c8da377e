"""Tests of perfmodel.estimate."""

import pytest

from fred_hw.errors import InputError
from perfmodel.compute import Npu
from perfmodel.estimate import NOT_MODELLED, Estimate, estimate
from perfmodel.topology.parse import parse_topology
from perfmodel.workload import load_workload


def run(topology: str, workload: str, strategy: str | None = None) -> Estimate:
    return estimate(parse_topology(topology), load_workload(workload), strategy)


@pytest.mark.parametrize(
    ("topology", "published_s"), [("mesh:5x4", 152e-6), ("fred-c", 76e-6), ("fred-d", 40e-6)]
)
def test_gradients_of_resnet_take_the_time_that_the_paper_implies(
    topology: str, published_s: float
) -> None:
    assert run(topology, "resnet-152").exposed_s.dp == pytest.approx(published_s, rel=0.03)


def test_iteration_is_compute_and_exposed_gradients() -> None:
    result = run("fred-d", "transformer-17b")
    assert result.exposed_s.dp is not None
    assert result.iteration_time_s == result.compute_s + result.exposed_s.dp
    assert result.minibatch == 48


def test_what_is_not_modelled_is_null() -> None:
    result = run("fred-d", "gpt-3")
    exposed = result.exposed_s
    assert (exposed.mp, exposed.pp, exposed.weight_streaming, exposed.input_load) == (None,) * 4
    assert result.not_modelled == NOT_MODELLED
    assert {"mp", "pp", "weight_streaming", "input_load", "pipeline_bubble"} == set(NOT_MODELLED)


def test_all_groups_reduce_their_share_of_the_gradients_at_once() -> None:
    result = run("fred-d", "gpt-3")
    reduction = result.dp_all_reduce
    assert reduction is not None
    assert reduction.groups == tuple((i, i + 4, i + 8, i + 12, i + 16) for i in range(4))
    parameters = load_workload("gpt-3").network.parameters
    assert reduction.size_bytes == pytest.approx(2 * parameters / 4)


def test_one_replica_has_no_gradients_to_exchange() -> None:
    result = run("mesh:5x4", "transformer-17b", "MP20-DP1-PP1")
    assert result.exposed_s.dp == 0.0
    assert result.dp_all_reduce is None
    assert result.strategy == "MP20-DP1-PP1"


def test_streaming_workload_says_what_stands_in() -> None:
    assert any("stands in" in text for text in run("fred-d", "gpt-3").provenance.assumptions)
    assert not any(
        "stands in" in text for text in run("fred-d", "resnet-152").provenance.assumptions
    )


def test_provenance_has_records_and_assumptions() -> None:
    provenance = run("fred-d", "resnet-152").provenance
    assert [use.record for use in provenance.records] == ["l1-12", "l1-11", "l2-10"]
    assert any("roofline" in text for text in provenance.assumptions)


def test_lower_efficiency_changes_compute_only() -> None:
    fabric, workload = parse_topology("fred-d"), load_workload("resnet-152")
    slow, fast = (estimate(fabric, workload, npu=Npu(efficiency=e)) for e in (0.5, 1.0))
    assert slow.compute_s == pytest.approx(2 * fast.compute_s)
    assert slow.exposed_s == fast.exposed_s


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


def test_more_stages_than_layers_are_refused() -> None:
    message = (
        r"^strategy: must have at most the 50 layers of resnet-152 as stages, "
        r"not 51 as MP1-DP1-PP51$"
    )
    with pytest.raises(InputError, match=message):
        run("mesh:8x8", "resnet-152", "MP1-DP1-PP51")
