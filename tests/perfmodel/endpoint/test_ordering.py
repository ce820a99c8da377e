"""Properties of estimates with endpoints that cost something."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.endpoint.model import names
from perfmodel.memory.file import MemoryFile
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.estimate import simulate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload, with_batch
from tests.examples import examples

FABRICS = ("fred-a", "fred-d", "mesh:5x4", "torus:4x4")
JOBS = {
    "resnet-50": ("MP1-DP16-PP1", "MP1-DP8-PP2"),
    "dlrm": ("MP1-DP16-PP1-EP16", "MP1-DP16-PP1-EP4"),
    "transformer-17b": ("MP4-DP4-PP1", "MP2-DP4-PP2", "MP4-DP1-PP4"),
    "gnmt": ("MP1-DP16-PP1", "MP1-DP8-PP2"),
}
EACH = MemoryFile.model_validate(
    {"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-bw": 1000.0}
)
NPUS = {"H100": Npu(), "V100": Npu(peak_flops=120e12, hbm_bytes_per_s=900e9)}


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a request is made of."""
    job = draw(st.sampled_from([*JOBS]))
    return {
        "job": job,
        "strategy": draw(st.sampled_from(JOBS[job])),
        "fabric": draw(st.sampled_from(FABRICS)),
        "samples": draw(st.sampled_from([4, 16])),
        "overlap": draw(st.booleans()),
        "npu": draw(st.sampled_from([*NPUS])),
        "algorithm": draw(st.sampled_from(["published", "ring", "auto"])),
    }


def request_of(case: Mapping[str, Any]) -> Request:
    workload = with_batch(load_workload(case["job"]), case["samples"], 2)
    return Request.of(
        shared_topology(case["fabric"], "ideal"),
        replace(workload, overlap=case["overlap"], mode="stationary"),
        case["strategy"],
        npu=NPUS[case["npu"]],
        memory=EACH if case["fabric"].startswith("torus") else None,
        algorithm=case["algorithm"],
    )


def time_s(request: Request, endpoint: str) -> float:
    return simulate(replace(request, endpoint=endpoint), fitting=False).iteration.time_s


@pytest.mark.slow
@examples(30)
@given(case=cases())
def test_ideal_is_never_slower_than_ace_nor_ace_than_any_baseline(
    case: dict[str, Any],
) -> None:
    request = request_of(case)
    times_s = {name: time_s(request, name) for name in names()}
    slack = 1 + 1e-9
    assert times_s["ideal"] <= times_s["ace"] * slack
    assert times_s["ace"] <= times_s["core-driven"] * slack
    for kind in ("core-driven", "ace"):
        settings = [one for name, one in times_s.items() if name.startswith(f"{kind}:")]
        assert times_s[kind] == min(settings)
    for setting in ("comm-opt", "comp-opt", "no-overlap"):
        assert times_s[f"ace:{setting}"] <= times_s[f"core-driven:{setting}"] * slack


OWN = """npu: {memory_bytes_per_s: 900e9, cores: 80, core_bytes_per_s: 80e9}
settings:
  - {name: own, memory_bytes_per_s: %g, cores: %d}
"""


@pytest.mark.slow
@examples(20)
@given(case=cases(), memory=st.floats(1e10, 4e11), few=st.integers(5, 40), more=st.integers(0, 39))
def test_more_reserved_cores_are_never_faster(
    case: dict[str, Any], memory: float, few: int, more: int, tmp_path_factory: Any
) -> None:
    """From five cores on, the reserved bandwidth bounds what they read."""
    path, request = tmp_path_factory.mktemp("own") / "own.yaml", request_of(case)
    times_s: list[float] = []
    for cores in (few, few + more):
        path.write_text(OWN % (memory, cores))
        times_s.append(time_s(request, f"core-driven:{path}"))
    path.write_text(OWN % (memory, 0))
    assert time_s(request, f"ace:{path}") <= times_s[0] * (1 + 1e-9)
    assert times_s[0] <= times_s[1] * (1 + 1e-9)


@pytest.mark.parametrize(("kind", "reads"), [("core-driven", 2 - 4 / 20 + 1), ("ace", 1.0)])
def test_an_all_reduce_that_memory_bounds_takes_its_reads(kind: str, reads: float) -> None:
    """The time that the simulation finds is what a ring of twenty reads, over the reserved rate."""
    request = Request.of(shared_topology("fred-c", "ideal"), load_workload("resnet-152"))
    found = simulate(replace(request, endpoint=f"{kind}:comp-opt"), fitting=False).iteration
    size = 2 * load_workload("resnet-152").network.parameters
    rate = 128 / 900 * request.npu.hbm_bytes_per_s
    assert found.communication_s["dp"] == pytest.approx(reads * size / rate, rel=1e-9)
