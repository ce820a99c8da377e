"""Tests of perfmodel.training.estimate on several wafers."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.topology.graph import Topology
from perfmodel.topology.link_dimensions import BETWEEN
from perfmodel.topology.parse import parse_topology
from perfmodel.topology.wafers import JOINS
from perfmodel.training.estimate import Estimate, estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from tests.perfmodel.topology.test_wafers import wafers

FAST_IO = """
kind: fred
l1:
  - {count: 3, npus: 4, io_controllers: 4, record: l1-12}
  - {count: 2, npus: 4, io_controllers: 3, record: l1-11}
l2_record: l2-10
l1_l2_bytes_per_s: 12e12
in_network: true
io_bytes_per_s: 1e24
"""


def run(topology: Topology, workload: str, strategy: str | None = None, **more: Any) -> Estimate:
    return estimate(Request.of(topology, load_workload(workload), strategy, **more))


def carried_bytes(found: Estimate) -> tuple[float, float]:
    """Return the bytes on the busiest and on the average link between wafers, of 128 GB/s."""
    [use] = [one for one in found.utilization or () if one.dimension == BETWEEN]
    whole = found.iteration_time_s * 128e9
    return use.peak * whole, use.average * whole


@pytest.mark.parametrize("wafer", ["fred-a", "fred-d", "mesh:5x4"])
@pytest.mark.parametrize("workload", ["resnet-152", "transformer-17b", "gpt-3"])
def test_one_wafer_is_the_wafer_alone(wafer: str, workload: str) -> None:
    one, alone = wafers(1, wafer, protocol="measured"), parse_topology(wafer)
    assert run(one.called(wafer), workload) == run(alone, workload)


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("count", [2, 5])
def test_controllers_of_any_rate_leave_the_time_of_one_wafer(
    tmp_path: Path, join: str, count: int
) -> None:
    # Each wafer has as many replicas as one wafer alone, so a sample takes 1/W of the time.
    path = tmp_path / "fast.yaml"
    path.write_text(FAST_IO)
    many = wafers(count, str(path), join=join, latency_s=0.0)
    for workload, strategy in (("resnet-152", "MP1-DP{}-PP1"), ("transformer-17b", "MP2-DP{}-PP2")):
        replicas = 20 if workload == "resnet-152" else 5
        one = run(wafers(1, str(path)), workload, strategy.format(replicas))
        found = run(many, workload, strategy.format(count * replicas))
        assert found.placement == f"linear, DP over {count} wafers"
        assert found.iteration_time_s == pytest.approx(one.iteration_time_s, rel=1e-2)
        # A sample cannot take less than compute and communication on its wafer.
        slow = run(wafers(count, join=join), workload, strategy.format(count * replicas))
        assert slow.time_per_sample_s >= 0.999 * one.time_per_sample_s / count


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("wafer", ["fred-a", "fred-d", "mesh:5x4"])
def test_gradients_between_wafers_have_their_closed_form(wafer: str, count: int) -> None:
    # Replicas on all wafers: each controller sends 2 (W - 1)/W of its share of all gradients.
    found = run(wafers(count, wafer), "resnet-152", f"MP1-DP{20 * count}-PP1")
    gradients = 2 * load_workload("resnet-152").network.parameters
    each = 2 * (count - 1) / count * gradients / 18
    assert carried_bytes(found) == (pytest.approx(each), pytest.approx(each))


def test_gradients_of_several_groups_add_up_between_wafers() -> None:
    # MP5: five groups, each of a fifth of the gradients.
    found = run(wafers(2), "transformer-17b", "MP5-DP8-PP1")
    gradients = 2 * load_workload("transformer-17b").network.parameters
    assert carried_bytes(found)[0] == pytest.approx(gradients / 18, rel=1e-6)


@pytest.mark.parametrize("wafer", ["fred-a", "fred-d", "mesh:5x4"])
def test_pipelines_across_wafers_send_activations(wafer: str) -> None:
    # Five replicas, each of which sends the border's activations on and gradients back, once for
    # each microbatch; controllers have equal shares.
    job = load_workload("transformer-17b")
    found = run(wafers(2, wafer), "transformer-17b", "MP4-DP5-PP2")
    assert found.placement.endswith("PP over 2 wafers")
    sent = 2 * job.network.layers[20].output_numbers * job.samples_per_replica * 5
    assert carried_bytes(found)[0] == pytest.approx(sent / 18, rel=1e-6)


@pytest.mark.parametrize("wafer", ["fred-d", "mesh:5x4"])
def test_each_wafer_streams_its_weights_by_itself(wafer: str) -> None:
    job = load_workload("gpt-3")
    one, two = (run(wafers(n, wafer), "gpt-3", f"MP4-DP{5 * n}-PP1") for n in (1, 2))
    assert two.exposed_s.weight_streaming == pytest.approx(one.exposed_s.weight_streaming, rel=0.01)
    assert two.minibatch == 2 * one.minibatch == 10 * job.samples_per_replica
    assert carried_bytes(two) == (0.0, 0.0)
    assert "storage adds up the gradients of all wafers" in two.provenance.assumptions


@settings(max_examples=5, deadline=None)
@given(
    st.sampled_from(["MP2-DP9-PP2", "MP4-DP3-PP3", "MP3-DP12-PP1", "MP7-DP2-PP2", "MP10-DP1-PP3"]),
    st.sampled_from(JOINS),
    st.floats(1e9, 1e12),
    st.floats(1.0, 10.0),
)
def test_faster_links_between_wafers_are_never_slower(
    strategy: str, join: str, rate: float, more: float
) -> None:
    slow, fast = (
        run(wafers(2, join=join, bytes_per_s=one), "transformer-17b", strategy)
        for one in (rate, rate * more)
    )
    assert fast.placement == slow.placement
    assert fast.iteration_time_s <= slow.iteration_time_s * (1 + 1e-9)


@pytest.mark.parametrize("wafer", ["fred-a", "mesh:5x4"])
def test_network_models_of_several_wafers(wafer: str) -> None:
    topology = wafers(2, wafer)
    how = (topology, "transformer-17b", "MP4-DP10-PP1")
    fluid = run(*how)
    packet = run(*how, network_model="packet")  # without endpoints it has no packets
    assert packet.iteration_time_s == fluid.iteration_time_s
    with pytest.raises(InputError, match=r"network_model: must be fluid or packet for messages"):
        run(*how, network_model="roce")
