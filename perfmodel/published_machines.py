"""Published measurements of machines, and published errors of other simulators."""

from collections.abc import Mapping
from dataclasses import dataclass

from .published import Published

__all__ = [
    "ALL_REDUCE",
    "COLLECTIVES",
    "GIB",
    "ITERATIONS",
    "LLAMA_MFU",
    "MIB",
    "SIMULATOR_ERRORS",
    "Measured",
    "SimulatorError",
]

MIB, GIB = 2**20, 2**30

_AZURE = (
    "Azure AI benchmarking guide, github.com/samuel-bohman/AI-benchmarking-guide, Azure_Results"
)
_AZURE_A100 = f"{_AZURE}/ND_A100_v4_results.md, NCCL bandwidth"
_AZURE_H100 = f"{_AZURE}/ND_H100_v5_results.md, NCCL bandwidth"
_DGX_CLOUD = "github.com/NVIDIA/dgxc-benchmarking"
_DGX_H100 = f"{_DGX_CLOUD}, nccl/README.md, out of place"
_MSCCLPP = "github.com/microsoft/mscclpp, performance-ndmv4.md of its documentation, NCCL 2.17.1"
_ORACLE = "github.com/oracle-japan/ocitutorials, tutorials/_hpc/benchmark/run-nccltests-ubuntu.md"


def _gb_per_s(source: str, by_size: Mapping[int, str]) -> dict[int, Published]:
    return {size: Published(printed, source, 1e9) for size, printed in by_size.items()}


ALL_REDUCE: Mapping[str, Mapping[int, Published]] = {
    "a100/azure": _gb_per_s(
        _AZURE_A100,
        {
            MIB: "36.22",
            16 * MIB: "109.22",
            64 * MIB: "166.63",
            256 * MIB: "213.87",
            GIB: "228.10",
            8 * GIB: "231.58",
        },
    ),
    "a100/oracle": _gb_per_s(_ORACLE, {10 * GIB: "232.20"}),
    "h100/dgx-cloud": _gb_per_s(
        _DGX_H100,
        {
            MIB: "67.04",
            16 * MIB: "237.21",
            64 * MIB: "361.67",
            256 * MIB: "422.25",
            GIB: "466.33",
            8 * GIB: "480.16",
        },
    ),
    "h100/azure": _gb_per_s(
        _AZURE_H100,
        {16 * MIB: "234.45", 64 * MIB: "361.78", 256 * MIB: "423.38", 8 * GIB: "478.87"},
    ),
}
"""Bus bandwidth of an all-reduce in a node of 8 GPUs, by machine and vector size in bytes [B/s]."""

COLLECTIVES: Mapping[int, Mapping[str, Published]] = {
    nodes: {
        pattern: Published(printed, f"{_MSCCLPP}, 1 GiB", 1e9) for pattern, printed in rates.items()
    }
    for nodes, rates in {
        1: {"all_gather": "253.59", "all_reduce": "231.45", "all_to_all": "254.69"},
        2: {"all_gather": "177.05", "all_reduce": "183.82", "all_to_all": "37.80"},
    }.items()
}
"""Bus bandwidth at 1 GiB in one and in two nodes of 8 A100s, by nodes and pattern [B/s]."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured iteration of a run.

    Parameters
    ----------
    model : str
        Trained model: a name of ``studies.machines.MODELS``.
    npus : int
        Number of NPUs.
    strategy : str
        Parallel strategy.
    microbatches : int
        Number of parts of a replica's samples.
    samples : int
        Samples of a replica.
    pieces : int
        Parts of the layers on each stage, which microbatches visit in sequence (interleaving).
    layers : int or None
        Number of layers, if fewer than in the model.
    time : Published
        Time of the iteration [s].
    """

    model: str
    npus: int
    strategy: str
    microbatches: int
    samples: int
    pieces: int
    time: Published
    layers: int | None = None


_LLAMA = f"{_DGX_CLOUD}, llama3.1/README.md, BF16"
_GPT_3 = f"{_DGX_CLOUD}, nemo_megatron/README_175b.md, BF16"
_NEMOTRON = f"{_DGX_CLOUD}, nemotron/README.md, BF16"


def _llama(
    model: str, npus: int, strategy: str, count: int, pieces: int, time: str, layers: int = 0
) -> Measured:
    figure = Published(time, _LLAMA)
    return Measured(model, npus, strategy, count, count, pieces, figure, layers or None)


ITERATIONS: Mapping[str, Measured] = {
    "llama-3-8b/8": _llama("llama-3-8b", 8, "MP1-DP4-PP1-CP2", 32, 1, "12.27"),
    "llama-3-70b/64": _llama("llama-3-70b", 64, "MP4-DP2-PP4-CP2-SP", 64, 5, "14.66"),
    "llama-3-8b/128": _llama("llama-3-8b", 128, "MP1-DP64-PP1-CP2", 32, 1, "12.33"),
    "llama-3-70b/256": _llama("llama-3-70b", 256, "MP4-DP8-PP4-CP2-SP", 64, 5, "14.68"),
    "llama-3-405b-proxy/32": _llama("llama-3-405b", 32, "MP8-DP2-PP1-CP2-SP", 32, 1, "5.4", 8),
    "llama-3-405b-proxy/64": _llama("llama-3-405b", 64, "MP8-DP1-PP4-CP2-SP", 64, 8, "10.1", 30),
    "llama-3-405b/512": _llama("llama-3-405b", 512, "MP8-DP4-PP8-CP2-SP", 64, 8, "19.78"),
    "gpt-3/128": Measured("gpt-3", 128, "MP4-DP4-PP8-SP", 64, 64, 12, Published("8.309", _GPT_3)),
    "nemotron-15b/16": Measured(
        "nemotron-15b", 16, "MP2-DP8-PP1-SP", 4, 8, 1, Published("2.746", _NEMOTRON)
    ),
    "nemotron-340b/256": Measured(
        "nemotron-340b", 256, "MP8-DP4-PP8-SP", 16, 16, 12, Published("4.606", _NEMOTRON)
    ),
}
"""Iterations of NVIDIA's BF16 recipes on DGX H100, by model and number of NPUs."""

_TABLE_4 = "Grattafiori et al., Llama 3, arXiv 2407.21783, table 4"

LLAMA_MFU: Mapping[int, tuple[int, Published]] = {
    8192: (32, Published("43", f"{_TABLE_4}: TP8, PP16, DP64, 32 sequences of 8,192 a replica")),
    16384: (16, Published("41", f"{_TABLE_4}: TP8, PP16, DP128, 16 sequences of 8,192 a replica")),
}
"""Samples per replica, and model FLOP utilization of Llama 3 405B in BF16 [%], by NPUs."""


@dataclass(frozen=True, slots=True)
class SimulatorError:
    """The error that a simulator's publication states.

    Parameters
    ----------
    figure : Published
        The error [%].
    words : str
        Meaning of the error: mean or bound, and of which runs.
    worst : Published or None
        The largest error [%]; None if it is not published.
    """

    figure: Published
    words: str
    worst: Published | None = None


_CALCULON = "output of github.com/calculon-ai/calculon's test/test.sh, llm-validation, seqsel_tab5"

SIMULATOR_ERRORS: Mapping[str, SimulatorError] = {
    "calculon": SimulatorError(
        Published("3.65", _CALCULON),
        "mean of the same eight iterations",
        Published("8.87", _CALCULON),
    ),
    "simai": SimulatorError(
        Published("1.9", "Wang et al., SimAI, NSDI 2025, abstract: 98.1 % alignment on average"),
        "mean of runs of its own",
    ),
    "atlahs": SimulatorError(
        Published("5", "Shen et al., ATLAHS, arXiv 2505.08936, abstract: consistently less than"),
        "bound over runs of its own",
    ),
    "charon": SimulatorError(
        Published("3.74", "Yang et al., Charon, arXiv 2605.17164, abstract: even under, training"),
        "bound over training runs of its own on a large cluster",
    ),
}
"""Published errors of other simulators, by name."""
