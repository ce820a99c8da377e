"""Gains of Themis, compared with its published figures."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from perfmodel.collectives.themis.network import QueueDimension, ideal_s
from perfmodel.collectives.themis.run import Queuing, run_chunks
from perfmodel.memory.file import MemoryFile
from perfmodel.published_themis import (
    NETWORKS,
    THEMIS_MEAN_SPEEDUP,
    THEMIS_SPEEDUP,
    THEMIS_TRAINING,
    THEMIS_UTILIZATION,
    TUTORIAL_US,
    Line,
)
from perfmodel.topology.block import Block
from perfmodel.topology.blocks import BlocksTopology
from perfmodel.training.compute import Npu
from perfmodel.training.estimate import simulate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload, with_batch
from studies.section import GIB, SECTIONS, ReproduceRow, Section, Setting, number

__all__ = ["themis"]

_LINK_S = 11e-9
"""Link latency and endpoint delay in the runs of the authors' code; a switch counts as two links
[s]."""

_NPU = Npu(peak_flops=312e12, hbm_bytes_per_s=2039e9)
"""An NPU similar to an A100 of 80 GB."""

_INPUTS = MemoryFile.model_validate(
    {"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-bw": 1000.0}
)
"""Source of inputs, fast enough to never be exposed."""

_RUNS: Mapping[str, tuple[str, int]] = {
    "ResNet-152": ("MP1-DP1024-PP1", 32),
    "GNMT": ("MP1-DP1024-PP1", 128),
    "DLRM": ("MP1-DP1024-PP1-EP1024", 512),
    "Transformer-1T": ("MP128-DP8-PP1", 16),
}
"""Strategy and samples per replica of the simulated iterations, as reconstructed."""

_FASTER = (3, 10, 30)
"""Speed-ups of compute in the other readings of the simulated iterations."""

_HOW = "simulated by dimensions, 1 GiB in 64 chunks; networks reconstructed by their means"


def themis(_setting: Setting) -> Iterator[ReproduceRow]:
    """Yield utilization and time of collectives by dimension, and the gain in training."""
    found = {key: [_utilization(one, *key) for one in NETWORKS.values()] for key in _KEYS}
    for (policy, intra), figure in THEMIS_UTILIZATION.items():
        yield number(
            f"themis/utilization/{policy}-{intra}",
            f"mean utilization of an all-reduce, {policy}, {intra} [%]",
            figure,
            100 * _mean(found[policy, intra]),
            _HOW,
            "calibrated",
        )
    fixed = found["dimension_order", "fifo"]
    for intra, figure in THEMIS_MEAN_SPEEDUP.items():
        gains = [one / base for one, base in zip(found["themis", intra], fixed, strict=True)]
        what = f"mean speed-up of an all-reduce by Themis, {intra}"
        yield number(f"themis/speedup/mean-{intra}", what, figure, _mean(gains), _HOW, "calibrated")
        if intra == "scf":
            what = "largest speed-up of an all-reduce by Themis"
            yield number("themis/speedup/most", what, THEMIS_SPEEDUP, max(gains), _HOW)
    tutorial: list[Line] = [("switch", 8, 8 * 50)] * 3
    for policy, figure in TUTORIAL_US.items():
        dimensions, how = _dimensions(tutorial), Queuing(policy)
        _, services = run_chunks(dimensions, GIB, "all_reduce", how)
        yield number(
            f"themis/time/{policy}",
            f"all-reduce of 1 GiB on three switches of 8, {policy} [µs]",
            figure,
            1e6 * max(one.done_s for one in services),
            "simulated by dimensions, 64 chunks",
        )
    yield from _training(fixed, found["themis", "scf"])
    yield from _iterations()


_KEYS = [*THEMIS_UTILIZATION]


def _training(fixed: list[float], scf: list[float]) -> Iterator[ReproduceRow]:
    """Yield speed-ups of training, with compute derived from the gain of ideal networks.

    In units of the time that a collective takes on an ideal network, an iteration is c + 1 / u with
    compute c and utilization u. The published gain g of ideal networks is the mean of
    (c + 1 / u) / (c + 1) over the fixed orders, which gives c.
    """
    inverse = _mean([1 / one for one in fixed])
    for name, figures in THEMIS_TRAINING.items():
        ideal = figures.ideal.value
        compute = (inverse - ideal) / (ideal - 1)
        gains = [
            (compute + 1 / base) / (compute + 1 / one) for base, one in zip(fixed, scf, strict=True)
        ]
        how = (
            f"all-reduces simulated by dimensions and not hidden; compute is {compute:.3g} ideal "
            f"all-reduces, by the published gain of ideal networks, {figures.ideal.printed}"
        )
        mean, most = (
            (
                f"themis/training/{name.lower()}/{kind}",
                f"{words} speed-up of training {name} by Themis",
            )
            for kind, words in (("mean", "mean"), ("most", "largest"))
        )
        yield number(*mean, figures.mean, _mean(gains), how, "calibrated")
        yield number(*most, figures.most, max(gains), how)


def _iterations() -> Iterator[ReproduceRow]:
    """Yield mean speed-ups of training, with every iteration simulated."""
    for name, figures in THEMIS_TRAINING.items():
        gains = {factor: _iteration_gain(name, factor) for factor in (1, *_FASTER)}
        strategy, samples = _RUNS[name]
        yield number(
            f"themis/training/{name.lower()}/simulated",
            f"mean speed-up of an iteration of {name} by Themis",
            figures.mean,
            gains[1],
            f"iterations simulated on the six networks, {strategy} with {samples} samples per "
            "replica on NPUs like A100s, compute from first principles",
            reading="compute is the roofline",
            readings={f"compute {one} times as fast": gains[one] for one in _FASTER},
        )


def _iteration_gain(name: str, factor: int) -> float:
    """Return the mean gain of Themis over the fixed order, at a compute speed-up."""
    strategy, samples = _RUNS[name]
    workload = with_batch(load_workload(name.lower()), samples, 1)
    gains: list[float] = []
    for network, lines in NETWORKS.items():
        request = Request.of(
            _topology(network, lines),
            workload,
            strategy,
            npu=_NPU,
            memory=_INPUTS,
            compute=f"scaled:{factor}",
        )
        base_s, own_s = (
            simulate(replace(request, algorithm=one), fitting=False).iteration.time_s
            for one in ("dimension_order", "themis")
        )
        gains.append(base_s / own_s)
    return _mean(gains)


@cache
def _topology(name: str, lines: tuple[Line, ...]) -> BlocksTopology:
    """Return a network as a topology; an NPU divides its rate among its links of a line."""
    blocks: list[Block] = []
    for kind, npus, rate in lines:
        links = {"switch": 1, "ring": 2, "fully_connected": npus - 1}[kind]
        blocks.append(Block(kind, npus, rate / 8 * GIB / links, _LINK_S))
    return BlocksTopology(name=name, blocks=blocks)


def _utilization(lines: tuple[Line, ...], policy: str, intra: str) -> float:
    dimensions = _dimensions(lines)
    _, services = run_chunks(dimensions, GIB, "all_reduce", Queuing(policy, intra=intra))
    return ideal_s(dimensions, GIB, "all_reduce") / max(one.done_s for one in services)


def _dimensions(lines: "tuple[Line, ...] | list[Line]") -> list[QueueDimension]:
    """Return lines as dimensions; a GB is 2^30 bytes, as in the runs of the authors' code."""
    return [
        QueueDimension(npus, rate / 8 * GIB, _LINK_S * (1 + (kind == "switch")), kind)
        for kind, npus, rate in lines
    ]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


_TITLE = "Chunks in orders of their own (Themis)"
SECTIONS.add("themis", Section(themis, {"themis": _TITLE}), rank=4)
