"""Tests of perfmodel.training.request and perfmodel.training.options."""

from dataclasses import FrozenInstanceError, asdict, replace
from pathlib import Path
from typing import Any

import click
import pytest

from fred_cli.cli import cli
from fred_hw.errors import InputError
from perfmodel.api import Wafer
from perfmodel.memory.file import MemoryFile
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compute import Npu, npu_of
from perfmodel.training.estimate import estimate, simulate
from perfmodel.training.options import OPTIONS, Options
from perfmodel.training.request import Request, read_requests
from perfmodel.workloads.workload import load_workload
from studies.study.file import ROOTS
from tests.written import written

OTHER = {
    "compute": "peak:2",
    "algorithm": "ring",
    "placement": "linear",
    "network_model": "packet",
    "energy": "cluster",
    "endpoint": "ace",
}
"""Values of options that are no defaults."""


def options_of(command: str) -> dict[str, Any]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return {str(param.name): param.default for param in found.params}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_offered_wherever_iterations_are_asked_for(name: str, tmp_path: Path) -> None:
    """A further field of Options is all that the interfaces need."""
    option = OPTIONS[name]
    for command in ("estimate", "compare", "strategies"):
        assert options_of(command)[name] == option.default
    assert name in ROOTS
    value = OTHER[name]
    found = Wafer.named("fred-d").estimate("resnet-152", **{name: value})
    assert asdict(found)["options"] == {**Options().options, name: value}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_value_that_an_option_does_not_take_is_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(Options(), **{name: "best"})
    assert (caught.value.source, caught.value.field) == ("", name)
    assert caught.value.message.startswith("must be one of ")


def test_what_is_left_out_is_that_of_topology_and_workload() -> None:
    fabric, job = shared_topology("fred-d"), load_workload("gpt-3")
    slow = fabric.with_npu({"peak_flops": 1e12, "efficiency": {"matmul": 0.5}})
    request = Request.of(slow, job)
    assert request.strategy == job.strategy and request.memory is None
    assert request.npu == npu_of(slow.npu_rates) != Npu()
    assert str(Request.of(fabric, job, "TP2-DP5-PP2").strategy) == "MP2-DP5-PP2"


def test_a_request_does_not_change() -> None:
    request = Request.of(shared_topology("fred-d"), load_workload("gpt-3"))
    with pytest.raises(FrozenInstanceError):
        request.compute = "weights"  # type: ignore[misc]


def test_malformed_strategy_and_small_memory_are_refused() -> None:
    fabric, job = shared_topology("fred-d"), load_workload("gpt-3")
    with pytest.raises(InputError, match=r"^strategy: must be like MP2-DP5-PP2, not 'MP2'$"):
        Request.of(fabric, job, "MP2")
    keys = {"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-bw": 1.0}
    nodes = MemoryFile.model_validate({**keys, "num-nodes": 5, "num-npus-per-node": 1})
    with pytest.raises(InputError, match=r"^memory: num-nodes: must be enough for the 20 NPUs"):
        Request.of(fabric, job, memory=nodes)


def test_requests_are_read_workload_by_workload(tmp_path: Path) -> None:
    pool = written(tmp_path / "pool.yaml", "memory-type: MEMORY_POOL\nremote-mem-bw: 1\n")
    found = read_requests(
        ["mesh:5x4", "fred-d"],
        ["resnet-152", "gpt-3"],
        protocol="ideal",
        npu={"peak_flops": 1e12},
        memory=pool,
        changes={"samples": 8, "microbatches": 4, "mode": "stationary"},
        algorithm="auto",
    )
    names = [(one.workload.name, one.topology.name) for one in found]
    assert names == [(job, at) for job in ("resnet-152", "gpt-3") for at in ("mesh:5x4", "fred-d")]
    for one in found:
        assert (one.topology.protocol, one.npu, one.algorithm) == ("ideal", Npu(1e12), "auto")
        assert one.memory and one.memory.memory_type == "MEMORY_POOL"
        job = one.workload
        assert (job.samples_per_replica, job.microbatches, job.mode) == (8, 4, "stationary")


def test_the_network_model_of_a_request_is_that_of_its_communication() -> None:
    fabric = shared_topology("examples/mesh-5x4-endpoints.yaml")
    request = Request.of(fabric, load_workload("examples/iteration.yaml"))
    packet = replace(request, network_model="packet")
    times_s = [simulate(one).iteration.communication_s["mp"] for one in (request, packet)]
    assert times_s[0] != times_s[1] and times_s[0] == pytest.approx(times_s[1], rel=0.5)


def test_a_scaled_model_of_compute_scales_what_its_npu_takes() -> None:
    request = Request.of(shared_topology("fred-d"), load_workload("resnet-152"))
    twice = replace(request, compute="scaled:2")
    assert twice.compute_scale == 0.5 and twice.compute_npu == request.npu
    assert estimate(twice).busy_s == pytest.approx(estimate(request).busy_s / 2)
