"""Memory footprint of an NPU in an iteration."""

from collections.abc import Sequence
from dataclasses import dataclass

from fred_hw.compiler.placement import Strategy
from perfmodel.constants import NUMBER_BYTES
from perfmodel.workloads.layers import Layer
from perfmodel.workloads.pipeline_schedule import microbatches_held
from perfmodel.workloads.workload import Workload

from .graph import PREFETCH

__all__ = ["Memory", "memory"]

OPTIMIZER_BYTES = 12
"""Bytes per parameter of Adam in mixed precision: FP32 weight, momentum and variance (ZeRO,
Rajbhandari et al., arXiv 1910.02054, section 3.1)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on the NPU with the largest footprint.

    Parameters
    ----------
    weights_bytes, gradients_bytes, optimizer_bytes : float
        Bytes of the parameters [B]; in streaming mode the optimizer is at the storage.
    activations_bytes : float
        Activations kept for the backward pass without recomputation [B].
    recomputed_bytes : float
        Activations if only the input of each layer is kept and the rest recomputed [B].
    available_bytes : float
        Memory of the NPU [B].
    """

    weights_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    activations_bytes: float
    recomputed_bytes: float
    available_bytes: float

    @property
    def total_bytes(self) -> float:
        """Total footprint without recomputation [B]."""
        return self.state_bytes + self.activations_bytes

    @property
    def least_bytes(self) -> float:
        """Total footprint with recomputation [B]."""
        return self.state_bytes + self.recomputed_bytes

    @property
    def state_bytes(self) -> float:
        """Weights, gradients and optimizer states, the minimum for training [B]."""
        return self.weights_bytes + self.gradients_bytes + self.optimizer_bytes

    @property
    def state_fits(self) -> bool:
        """Whether weights, gradients and optimizer states fit."""
        return self.state_bytes <= self.available_bytes

    @property
    def recomputed(self) -> bool:
        """Whether the backward pass recomputes activations, since not all of them fit."""
        return self.total_bytes > self.available_bytes

    @property
    def fits(self) -> bool:
        """Whether the footprint fits, possibly with recomputation."""
        return self.least_bytes <= self.available_bytes

    @property
    def verdict(self) -> str:
        """Whether the footprint fits, and what must be given up otherwise."""
        if not self.state_fits:
            return "weights do not fit"
        if not self.recomputed:
            return "fits"
        return "fits if recomputed" if self.fits else "activations do not fit"


def memory(
    workload: Workload,
    strategy: Strategy,
    stages: Sequence[Sequence[Layer]],
    available_bytes: float,
) -> Memory:
    """Return the footprint of the NPU that needs the most memory.

    Stationary mode, with ZeRO stage 2 along DP: FP16 weights, and a share of FP16 gradients and of
    the optimizer's 12 bytes per parameter (arXiv 1910.02054). Activations are split along MP, with
    sequence parallelism where Megatron-LM splits nothing else (arXiv 2205.05198). Streaming mode:
    the layers of a stage that are loaded at the same time, and gradients of as many; all
    activations of the stage's layers are kept. Activations are those of the microbatches that the
    first stage holds at once.

    Parameters
    ----------
    workload : Workload
        Gives mode, schedule and samples; its network is the part of each NPU along CP and EP.
    strategy : Strategy
        Sizes.
    stages : sequence of sequence of Layer
        Layers of each stage.
    available_bytes : float
        Memory of the NPU [B].
    """
    samples = workload.samples_per_replica / workload.microbatches
    streaming = workload.mode == "streaming"
    held = workload.microbatches
    if not streaming:
        held = microbatches_held(workload.schedule, strategy.pp, workload.microbatches)
    needs: list[Memory] = []
    for layers in stages:
        largest = max(layer.parameters for layer in layers)
        kept = PREFETCH * largest if streaming else sum(layer.parameters for layer in layers)
        weights = NUMBER_BYTES * kept / strategy.mp
        spread = 1.0 if streaming else _replicas(layers, strategy)
        # With recomputation a layer stores its input, which is the output of the layer before it.
        inputs = sum(layer.output_numbers for layer in layers[:-1]) + layers[0].output_numbers
        stored = sum(layer.stored_numbers for layer in layers)
        peak = max(layer.stored_numbers for layer in layers)
        needs.append(
            Memory(
                weights_bytes=weights,
                gradients_bytes=weights / spread,
                optimizer_bytes=0.0 if streaming else OPTIMIZER_BYTES * kept / strategy.mp / spread,
                activations_bytes=NUMBER_BYTES * samples * held * stored / strategy.mp,
                recomputed_bytes=NUMBER_BYTES
                * samples
                * (held * min(inputs, stored) + peak)
                / strategy.mp,
                available_bytes=available_bytes,
            )
        )
    return max(needs, key=lambda need: need.least_bytes)


def _replicas(layers: Sequence[Layer], strategy: Strategy) -> float:
    """Return the average number of NPUs that shard the gradients and optimizer of a parameter.

    An expert is on fewer NPUs than other parameters by EP.
    """
    replicas = strategy.dp * strategy.cp
    every = sum(layer.parameters for layer in layers)
    if strategy.ep == 1 or not every:
        return replicas
    shared = sum(layer.shared_parameters for layer in layers)
    return every / ((every - shared) / replicas + shared / (replicas / strategy.ep))
