"""Cost of endpoints (ACE): memory reads, training on tori, and the speed-ups of FRED."""

from collections.abc import Iterator
from dataclasses import replace

from perfmodel.collectives.memory_traffic import core_traffic
from perfmodel.collectives.select import build_schedule
from perfmodel.derived import Derived
from perfmodel.endpoint.closed_forms import bandwidth_reduction
from perfmodel.endpoint.model import IDEAL
from perfmodel.memory.file import MemoryFile
from perfmodel.published_ace import (
    BANDWIDTH_SAVED,
    REDUCTIONS,
    RING_READS,
    TRAINING,
    TRAINING_BATCH,
)
from perfmodel.topology.block import Block
from perfmodel.topology.blocks import BlocksTopology
from perfmodel.topology.parse import BASELINE, shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.estimate import simulate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import PUBLISHED, load_workload, with_batch
from studies.identify import described
from studies.section import SECTIONS, ReproduceRow, Section, Setting, number

__all__ = ["endpoint", "torus"]

_CORES, _ACE = "core-driven", "ace"
_KINDS = (_CORES, _ACE, IDEAL)

_TORI = ((4, 2, 2), (4, 4, 2), (4, 4, 4))
"""Dimensions of the tori of 16 to 64 NPUs over which the training rows average."""

_LOCAL_BYTES_PER_S, _PACKAGE_BYTES_PER_S, _LATENCY_S = 200e9, 25e9, 0.5e-6
"""Link rates within and between packages, as reconstructed, and an assumed latency."""

_NPU = Npu(peak_flops=120e12, hbm_bytes_per_s=900e9)
"""An NPU similar to a V100."""

_INPUTS = MemoryFile.model_validate(
    {"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-bw": 1000.0}
)
"""Source of inputs, fast enough to never be exposed."""

_FASTER = (3, 10, 30)
"""Speed-ups of compute in the other readings of the training rows."""


def endpoint(setting: Setting) -> Iterator[ReproduceRow]:
    """Yield memory reads, training on tori, and speed-ups of FRED with endpoint costs."""
    yield from _reads()
    yield from _training()
    for name in PUBLISHED:
        yield from _fred(name, setting)


def _reads() -> Iterator[ReproduceRow]:
    for npus, figure in RING_READS.items():
        made = build_schedule(torus((npus,)), "all_reduce", [range(npus)], 1.0, "ring")
        traffic = core_traffic(made, npus)[0]
        what = f"bytes that cores read for each byte sent in a ring of {npus}"
        how = "sends and receives of an NPU in the schedule"
        reads = traffic.read / traffic.sent
        yield number(
            f"endpoint/reads/ring-{npus}", what, figure, reads, how, "consistency", exact=True
        )
    for sizes, figure in REDUCTIONS.items():
        name = "x".join(map(str, sizes))
        what = f"memory bandwidth of cores over that of ACE on a torus of {name}"
        how, value = "closed form", bandwidth_reduction(sizes)
        yield number(f"endpoint/saved/{name}", what, figure, value, how, "consistency", exact=True)
    large = [bandwidth_reduction(one) for one in [*REDUCTIONS][2:]]
    yield number(
        "endpoint/saved/mean",
        "memory bandwidth of cores over that of ACE, on average",
        BANDWIDTH_SAVED,
        sum(large) / len(large),
        "closed form, mean over tori of 64 to 256 NPUs",
        "consistency",
    )


def _training() -> Iterator[ReproduceRow]:
    for name, figure in TRAINING.items():
        gains = {factor: _gain(name, factor) for factor in (1, *_FASTER)}
        yield number(
            f"endpoint/training/{name}",
            f"iteration of {name} by cores, best setting, over that with ACE",
            figure,
            gains[1],
            "simulated on tori of 16, 32 and 64 NPUs like V100s, compute from first principles",
            reading="compute is the roofline",
            readings={f"compute {one} times as fast": gains[one] for one in _FASTER},
        )


def _gain(name: str, factor: int) -> float:
    """Return the mean gain of ACE over the best core-driven setting, at a compute speed-up."""
    workload = with_batch(load_workload(name), TRAINING_BATCH[name], 1)
    gains: list[float] = []
    for sizes in _TORI:
        topology = torus(sizes)
        strategy = f"MP1-DP{topology.npus}-PP1"
        strategy += f"-EP{topology.npus}" if workload.network.shares else ""
        request = Request.of(
            topology,
            replace(workload, overlap=True),
            strategy,
            npu=_NPU,
            memory=_INPUTS,
            compute=f"scaled:{factor}",
            algorithm="four_phase",
        )
        gains.append(_time_s(request, _CORES) / _time_s(request, _ACE))
    return sum(gains) / len(gains)


def _fred(name: str, setting: Setting) -> Iterator[ReproduceRow]:
    """Yield the speed-ups of a published workload with endpoint costs."""
    how = described(setting.compute, name, setting.protocol)
    requests = {
        fabric: Request.of(
            shared_topology(fabric, setting.protocol),
            load_workload(name),
            compute=setting.compute,
            algorithm=setting.algorithm,
        )
        for fabric in (BASELINE, "fred-c", "fred-d")
    }
    times_s = {
        (fabric, kind): _time_s(request, kind)
        for fabric, request in requests.items()
        for kind in _KINDS
    }
    for fabric in ("fred-c", "fred-d"):
        gain = {kind: times_s[BASELINE, kind] / times_s[fabric, kind] for kind in _KINDS}
        yield number(
            f"endpoint/{fabric}/{name}",
            f"speed-up of {name} on {fabric.upper()} with core-driven endpoints",
            Derived(gain[IDEAL], "ours: with ideal endpoints, as the paper has them"),
            gain[_CORES],
            how,
            reading="cores run collectives, in the fastest setting",
            readings={"an engine at each NPU (ACE)": gain[_ACE]},
        )


def _time_s(request: Request, kind: str) -> float:
    return simulate(replace(request, endpoint=kind), fitting=False).iteration.time_s


def torus(sizes: tuple[int, ...]) -> BlocksTopology:
    """Return a torus with given dimensions, the first of which is within a package."""
    rates = [_LOCAL_BYTES_PER_S, *[_PACKAGE_BYTES_PER_S] * (len(sizes) - 1)]
    blocks = [Block("ring", n, rate, _LATENCY_S) for n, rate in zip(sizes, rates, strict=True)]
    return BlocksTopology(name=f"torus:{'x'.join(map(str, sizes))}", blocks=blocks)


SECTIONS.add("endpoint", Section(endpoint, {"endpoint": "What endpoints cost (ACE)"}), rank=4.5)
