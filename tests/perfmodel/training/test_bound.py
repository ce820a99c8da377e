"""Tests of perfmodel.training.bound."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.memory.file import load_tier
from perfmodel.network.model import CannotTimeError
from perfmodel.topology.files import build_topology
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology
from perfmodel.training.bound import Fabric, Rates, Sizes, bounds_of, time_bounds_s
from perfmodel.training.compute import Npu
from perfmodel.training.estimate import Estimate, simulate, summarize
from perfmodel.training.request import Request
from perfmodel.training.strategies import feasible
from perfmodel.workloads.workload import Workload, build_workload

FRED = {
    "kind": "fred",
    "l1": [{"count": 2, "npus": 4, "io_controllers": 4, "record": "l1-12"}],
    "l2_record": "l2-10",
}
EXAMPLES = Path(__file__).parents[3] / "examples"
MESH = {"kind": "mesh", "columns": 4, "rows": 2}
TRANSFORMER = {
    "kind": "transformer",
    "layers": 5,
    "hidden": 512,
    "heads": 8,
    "sequence": 256,
    "vocabulary": 1000,
    "strategy": "MP1-DP1-PP1",
}
EXPERTS = {**TRANSFORMER, "experts": 4, "experts_per_token": 2}
GNMT = {
    "kind": "gnmt",
    "encoder_layers": 2,
    "decoder_layers": 2,
    "units": 256,
    "vocabulary": 1000,
    "source_tokens": 16,
    "target_tokens": 16,
    "strategy": "MP1-DP1-PP1",
}


@cache
def fabric(kind: str, protocol: str, log_rate: float) -> Topology:
    changes: dict[str, Any] = {"protocol": protocol}
    if kind == "mesh":
        return build_topology({**MESH, "link_bytes_per_s": 10**log_rate, **changes}, kind)
    rate = 10**log_rate
    rates = {"npu_l1_bytes_per_s": rate, "l1_l2_bytes_per_s": 2 * rate}
    return build_topology({**FRED, "in_network": kind == "fred", **rates, **changes}, kind)


@cache
def workload(
    kind: str, mode: str, schedule: str, overlap: bool, batch: tuple[int, int]
) -> Workload:
    microbatches, samples = batch
    given = {"transformer": TRANSFORMER, "experts": EXPERTS, "gnmt": GNMT}[kind]
    keys = {"mode": mode, "schedule": schedule, "overlap": overlap}
    numbers = {"microbatches": microbatches, "samples_per_replica": microbatches * samples}
    return build_workload({**given, **keys, **numbers}, kind)


def bounds(request: Request, recomputed: bool | None = None) -> dict[str, float]:
    sizes = Sizes(*np.array([Sizes.of(request.strategy)]).T)
    npu = Rates.of(np.array([Rates.row(request.compute_npu)]))
    rates = Fabric.of(request.topology, remote_memory=request.memory is not None)
    scale = np.array([request.compute_scale])
    known = None if recomputed is None else np.array([recomputed])
    found = bounds_of(request.workload, sizes, npu, Fabric(*np.array([rates]).T), scale, known)
    return {name: float(one[0]) for name, one in found.items()}


def figures(found: Estimate) -> dict[str, float]:
    names = ("iteration_time_s", "time_per_sample_s", "busy_s", "compute_s")
    times = {name: getattr(found, name) for name in names}
    memory = found.memory
    return times | {
        "memory.total_bytes": memory.total_bytes,
        "memory.least_bytes": memory.least_bytes,
    }


sizes = st.sampled_from([1, 2, 4])
strategies = st.builds(
    dict, mp=sizes, dp=sizes, pp=st.sampled_from([1, 2, 3, 4]), cp=st.sampled_from([1, 2])
)
workloads = st.builds(
    workload,
    kind=st.sampled_from(["transformer", "experts", "gnmt"]),
    mode=st.sampled_from(["stationary", "streaming"]),
    schedule=st.sampled_from(["1f1b", "gpipe"]),
    overlap=st.booleans(),
    batch=st.tuples(st.sampled_from([1, 2, 3, 8, 100]), st.sampled_from([1, 4])),
)
fabrics = st.builds(
    fabric,
    kind=st.sampled_from(["mesh", "fred", "switches"]),
    protocol=st.sampled_from(["measured", "ideal"]),
    log_rate=st.sampled_from([10.0, 11.5, 13.0]),
)
options = st.fixed_dictionaries(
    {
        "compute": st.sampled_from(["first-principles", "peak:2", "weights", "scaled:0.5"]),
        "algorithm": st.sampled_from(["published", "auto", "ring"]),
        "placement": st.sampled_from(["auto", "linear"]),
        "network_model": st.sampled_from(["fluid", "fluid", "packet"]),
        "endpoint": st.sampled_from(["ideal", "core-driven", "ace"]),
    }
)
npus = st.builds(
    Npu,
    peak_flops=st.sampled_from([1e12, 1e14, 1e16]),
    hbm_bytes_per_s=st.sampled_from([1e11, 1e13]),
    hbm_bytes=st.sampled_from([1e7, 1e9, 1e12]),
)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(
    topology=fabrics,
    job=workloads,
    size=strategies,
    more=st.tuples(st.sampled_from([1, 2]), st.booleans()),
    npu=npus,
    given_options=options,
)
def test_no_figure_is_below_its_bound(
    topology: Topology,
    job: Workload,
    size: dict[str, int],
    more: tuple[int, bool],
    npu: Npu,
    given_options: dict[str, Any],
) -> None:
    experts, sequence = more
    try:
        strategy = Strategy(**size, ep=experts, sp=sequence)
        request = Request.of(topology, job, strategy, npu=npu, **given_options)
        estimate = summarize(simulate(request, fitting=False))
    except (InputError, ValueError):  # does not go together
        reject()
    found, recomputed = figures(estimate), estimate.memory.recomputed
    for least in (bounds(request), bounds(request, recomputed)):
        assert {*least} == {*found}
        assert {name: one for name, one in found.items() if one < least[name]} == {}
    [bound_s] = time_bounds_s([request], [recomputed])
    assert bound_s == bounds(request, recomputed)["time_per_sample_s"]


@pytest.mark.slow(15)
@pytest.mark.parametrize("mode", ["stationary", "streaming"])
@pytest.mark.parametrize(
    ("name", "memory", "given_options"),
    [
        ("mesh:2x2", "", {"network_model": "roce"}),
        ("mesh:2x2", "", {"placement": "anneal"}),
        ("fred-a", "pool-memory.yaml", {}),
        ("wafers:2xmesh:2x1", "", {}),
        ("wafers:2xmesh:2x2", "", {"network_model": "packet"}),
    ],
)
def test_no_time_is_below_its_bound_with_rarer_options(
    mode: str, name: str, memory: str, given_options: dict[str, Any]
) -> None:
    topology, job = parse_topology(name), workload("transformer", mode, "1f1b", True, (2, 2))
    remote = load_tier(EXAMPLES / memory, topology.npus) if memory else None
    request = Request.of(topology, job, memory=remote, **given_options)
    checked = 0
    for strategy in feasible(job, topology.npus, cp=(1, 2), sp=True, fabrics=[topology])[::2]:
        one = replace(request, strategy=strategy)
        try:
            found = summarize(simulate(one, fitting=False))
        except CannotTimeError:  # messages that fork under RoCE
            continue
        [bound_s] = time_bounds_s([one], [found.memory.recomputed])
        assert 0 < bound_s <= found.time_per_sample_s, strategy
        checked += 1
    assert checked
