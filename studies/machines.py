"""Clusters of A100s and H100s as topologies of the general simulator, and runs on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from perfmodel.network.run import run_collective
from perfmodel.published_machines import Measured
from perfmodel.switch_timing.record import load_record
from perfmodel.topology.block import Block
from perfmodel.topology.blocks import BlocksTopology
from perfmodel.topology.fred import L1, FredTopology, Level
from perfmodel.topology.graph import Topology
from perfmodel.training.compute import EFFICIENCY, PEAK_FLOPS, Npu
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import Workload, build_workload

__all__ = [
    "CALLS",
    "MODELS",
    "NODE",
    "PRODUCT_EFFICIENCY",
    "Call",
    "Found",
    "bus_bandwidth",
    "cluster",
    "iteration",
    "model_flops",
    "utilization",
    "workload",
]

NODE = 8
"""Number of NPUs in a node."""


@dataclass(frozen=True, slots=True)
class Call:
    """Link rate and call time of a machine's collectives, fitted to measurements.

    Parameters
    ----------
    link_bytes_per_s : float
        Between an NPU and the switches of its node, one direction [B/s]: data sheet.
    share : float
        Share of that rate which large all-reduces reach; fitted.
    call_s : float
        Time of a call that no byte explains [s]; fitted.
    reduces : bool
        Whether the switches of a node reduce, as those of H100s do (NVLink SHARP).
    """

    link_bytes_per_s: float
    share: float
    call_s: float
    reduces: bool

    @property
    def bytes_per_s(self) -> float:
        """The rate that is reached [B/s]."""
        return self.link_bytes_per_s * self.share


CALLS: Mapping[str, Call] = {
    "a100": Call(300e9, 0.7736, 142.3e-6, reduces=False),
    "h100": Call(450e9, 0.6109, 62.8e-6, reduces=True),
}
"""Link rates and call times, fitted to the all-reduces of 16 MiB and 8 GiB of `a100/azure` and
`h100/dgx-cloud`."""

_NVLINK = 370e9
"""Rate that rings reach on an H100 [B/s]: S. Jeaugey of NVIDIA, github.com/NVIDIA/nccl-tests, issue
212."""

_NETWORK = {"a100": 0.9 * 25e9, "h100": 0.9 * 50e9}
"""InfiniBand rate per NPU [B/s]: HDR and NDR at the efficiency in calculon's
systems/a100_80g.json."""

_MEMORY = 0.85
"""Fraction of the memory bandwidth that is reached, as in ``studies.a100``."""

_LATENCIES_S = (1e-6, 2e-6)
"""Latency of a link within a node and between nodes [s], as in ``studies.a100``."""

PRODUCT_EFFICIENCY = 0.6
"""Fraction of the peak that matrix products and attention reach: the only figure that is fitted to
iterations, those of `llama-3-8b/8` and `llama-3-70b/64`."""

_NPU = Npu(
    # The bytes of all activations: NVIDIA's recipes recompute nothing, and kernels that fuse
    # attention store no scores, which the memory of a workload counts.
    hbm_bytes=1e13,
    hbm_bytes_per_s=_MEMORY * 3.35e12,  # NVIDIA H100 SXM data sheet
    efficiency={**EFFICIENCY, "matmul": PRODUCT_EFFICIENCY, "attention": PRODUCT_EFFICIENCY},
)

_TRAINING: dict[str, Any] = {
    "kind": "transformer",
    "causal": "half",
    "mode": "stationary",
    "overlap": True,
}
_LLAMA = _TRAINING | {
    "sequence": 8192,
    "vocabulary": 128256,
    "key_value_heads": 8,
    "gated": True,
    "tied": False,
    "biases": False,
    "rms_norm": True,
    "learned_positions": False,
}
_NEMOTRON = _TRAINING | {
    "sequence": 4096,
    "vocabulary": 256000,
    "key_value_heads": 8,
    "tied": False,
    "biases": False,
    "learned_positions": False,
}

MODELS: Mapping[str, dict[str, Any]] = {
    "llama-3-8b": _LLAMA | {"layers": 32, "hidden": 4096, "heads": 32, "feed_forward": 14336},
    "llama-3-70b": _LLAMA | {"layers": 80, "hidden": 8192, "heads": 64, "feed_forward": 28672},
    "llama-3-405b": _LLAMA | {"layers": 126, "hidden": 16384, "heads": 128, "feed_forward": 53248},
    "gpt-3": _TRAINING
    | {"layers": 96, "hidden": 12288, "heads": 96, "sequence": 2048, "vocabulary": 51200},
    "nemotron-15b": _NEMOTRON | {"layers": 32, "hidden": 6144, "heads": 48, "feed_forward": 24576},
    "nemotron-340b": _NEMOTRON
    | {"layers": 96, "hidden": 18432, "heads": 96, "feed_forward": 73728},
}
"""Models trained in the measured runs, as contents of workload files."""


@dataclass(frozen=True, slots=True)
class Found:
    """A simulated iteration without interleaving.

    Parameters
    ----------
    plain_s : float
        Of it [s].
    bubble_s : float
        What the pipeline waits to fill and drain in it [s].
    """

    plain_s: float
    bubble_s: float

    def time_s(self, pieces: int) -> float:
        """Return the time with a number of layer pieces on each stage (interleaving) [s].

        Microbatches then wait (PP - 1)/v for the pipeline to fill and drain, instead of PP - 1
        (Narayanan et al., arXiv 2104.04473, section 2.2): the bubble is divided by v.
        """
        return self.plain_s - self.bubble_s * (1 - 1 / pieces)


@cache
def _node(machine: str) -> Topology:
    """Return a node of 8 NPUs, whose links have the rate that large all-reduces reach."""
    call = CALLS[machine]
    if not call.reduces:
        return _blocks(machine, 1, call.bytes_per_s, (0.0, 0.0))
    timing = load_record("l1-12", None, "ideal")
    return FredTopology(
        name=machine,
        l1=[L1(NODE, 1, timing)],
        levels=[Level((timing,), 2, call.bytes_per_s)],
        npu_l1_bytes_per_s=call.bytes_per_s,
        io_bytes_per_s=call.bytes_per_s,
        link_latency_s=0.0,
        in_network=True,
    )


def _blocks(
    machine: str, nodes: int, bytes_per_s: float, latencies_s: tuple[float, float] = _LATENCIES_S
) -> BlocksTopology:
    blocks = [Block("switch", NODE, bytes_per_s, latencies_s[0])]
    if nodes > 1:
        blocks.append(Block("switch", nodes, _NETWORK[machine], latencies_s[1]))
    # Storage is not part of these measurements; its rate is that of PCIe 5.0 x16.
    return BlocksTopology(name=f"{nodes} {machine}", blocks=blocks, io_bytes_per_s=64e9)


def bus_bandwidth(machine: str, pattern: str, size: float, nodes: int = 1) -> float:
    """Return the bus bandwidth of a collective over all NPUs of the given nodes [B/s].

    Parameters
    ----------
    machine : str
        A key of ``CALLS``.
    pattern : str
        One of ``collectives.schedule.PATTERNS``.
    size : float
        The whole vector [B], as for ``network.run.run_collective``.
    nodes : int
        Nodes of 8 NPUs.
    """
    call = CALLS[machine]
    topology = _node(machine) if nodes == 1 else _blocks(machine, nodes, call.bytes_per_s)
    ring = nodes == 1 and not call.reduces and pattern != "all_to_all"
    run = run_collective(topology, pattern, size, algorithm="ring" if ring else "auto")
    return run.bus_bandwidth_bytes_per_s * run.time_s / (run.time_s + call.call_s)


@cache
def cluster(npus: int) -> Topology:
    """Return a cluster of H100s in nodes of 8; the number of H100s is a multiple of 8."""
    return _blocks("h100", npus // NODE, _NVLINK)


def workload(run: Measured, **changes: str) -> Workload:
    """Return the workload of a run, with some keys of its workload file changed.

    Raises
    ------
    InputError
        A key or a value is not allowed.
    """
    batch = {"microbatches": run.microbatches, "samples_per_replica": run.samples}
    fewer = {"layers": run.layers} if run.layers else {}
    said = {**MODELS[run.model], **fewer, **batch, "strategy": run.strategy, **changes}
    return build_workload(said, run.model)


def iteration(run: Measured) -> Found:
    """Return the simulated iteration of a run on H100s.

    Raises
    ------
    InputError
        The strategy of the run does not fit its NPUs or layers.
    """
    found = estimate(Request.of(cluster(run.npus), workload(run), npu=_NPU))
    return Found(found.iteration_time_s, found.exposed_s.bubble)


def model_flops(run: Measured, causal: str) -> float:
    """Return the operations of a model in an iteration of a run [FLOP].

    The backward pass has twice the operations of the forward pass; recomputation is not counted
    (model FLOP utilization, Chowdhery et al., arXiv 2204.02311, appendix B).

    Parameters
    ----------
    run : Measured
        The run.
    causal : str
        Pairs of tokens that count: ``full`` or ``half``, as in a workload file.
    """
    job = workload(run, causal=causal)
    return 3 * job.network.forward_flops * run.samples * job.strategy.dp


def utilization(time_s: float, flops: float, npus: int) -> float:
    """Return the model FLOP utilization of an H100 [%].

    Parameters
    ----------
    time_s : float
        Time of an iteration [s], above 0.
    flops : float
        Operations of the model in it, as of :func:`model_flops` [FLOP].
    npus : int
        NPUs that share them.
    """
    return 100 * flops / time_s / npus / PEAK_FLOPS
