"""Memory footprint of a cluster's NPU: model states by ZeRO stage, and activations."""

from dataclasses import dataclass
from typing import Literal, get_args

from fred_hw.compiler.placement import Strategy
from perfmodel.constants import NUMBER_BYTES
from perfmodel.training.memory import OPTIMIZER_BYTES

from .model import Transformer

__all__ = [
    "RECOMPUTE",
    "ZERO_STAGES",
    "Footprint",
    "Recompute",
    "Share",
    "Training",
    "footprint",
    "shares",
    "state_bytes",
]

Recompute = Literal["none", "selective", "full"]

RECOMPUTE: tuple[Recompute, ...] = get_args(Recompute)
"""What the backward pass recomputes: nothing, attention scores, or whole layers (Korthikanti et
al., arXiv 2205.05198)."""

ZERO_STAGES = (0, 1, 2, 3)
"""What data-parallel NPUs shard: nothing, the optimizer, also gradients, also weights (ZeRO,
Rajbhandari et al., arXiv 1910.02054)."""


@dataclass(frozen=True, slots=True)
class Training:
    """Training settings of a cluster.

    Parameters
    ----------
    batch : int
        Samples in an iteration.
    microbatch : int or None
        Samples that go through a replica at once; all of a replica if None.
    zero : int
        One of ``ZERO_STAGES``.
    recompute : str
        One of ``RECOMPUTE``.
    sequence_parallel : bool
        Whether MP also divides what is between the products.
    gradient_bytes : int
        Bytes of a gradient, 2 or 4.
    interleave : int
        Pieces of the network on each NPU of a pipeline.
    overlap : bool
        Whether gradients are reduced during the last backward pass.
    """

    batch: int
    microbatch: int | None = None
    zero: int = 2
    recompute: Recompute = "none"
    sequence_parallel: bool = False
    gradient_bytes: int = 2
    interleave: int = 1
    overlap: bool = True

    def samples(self, dp: int) -> float:
        """Return the samples of a microbatch with a given number of replicas."""
        replica = self.batch / dp
        return replica if self.microbatch is None else min(self.microbatch, replica)

    def microbatches(self, dp: int) -> float:
        """Return the number of microbatches of a replica."""
        return self.batch / dp / self.samples(dp)


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes on the NPU with the largest footprint, which is in the first pipeline stage.

    Parameters
    ----------
    states_bytes : float
        Weights, gradients and optimizer [B].
    activations_bytes : float
        Kept for the backward pass [B].
    """

    states_bytes: float
    activations_bytes: float

    @property
    def total_bytes(self) -> float:
        """Total footprint [B]."""
        return self.states_bytes + self.activations_bytes


def state_bytes(parameters: float, dp: int, zero: int, gradient_bytes: int = NUMBER_BYTES) -> float:
    """Return the bytes of weights, gradients and optimizer states of an NPU [B].

    With FP16 gradients 16 p, 4 p + 12 p/DP, 2 p + 14 p/DP and 16 p/DP for stages 0 to 3 (ZeRO,
    arXiv 1910.02054, section 5); with gradients of four bytes, as Megatron-LM keeps them, 18 p
    instead of 16 p.

    Parameters
    ----------
    parameters : float
        Parameters per NPU after division by model and pipeline parallelism, p.
    dp : int
        Replicas.
    zero : int
        One of ``ZERO_STAGES``.
    gradient_bytes : int
        Bytes of a gradient.
    """
    shares = [dp if zero >= stage else 1 for stage in (3, 2, 1)]
    sizes = (NUMBER_BYTES, gradient_bytes, OPTIMIZER_BYTES)
    return parameters * sum(size / share for size, share in zip(sizes, shares, strict=True))


@dataclass(frozen=True, slots=True)
class Share:
    """Parameters of an NPU that have the same number of replicas.

    Parameters
    ----------
    parameters : float
        Parameters on each NPU.
    replicas, stride : int
        NPUs that have the same ones, of which member i is NPU i times the stride.
    """

    parameters: float
    replicas: int
    stride: int


def shares(model: Transformer, strategy: Strategy) -> list[Share]:
    """Return an NPU's share of the non-expert parameters, and of experts if there are any."""
    mp, dp, ep = strategy.mp, strategy.dp, strategy.ep
    all_experts = model.expert_parameters
    found = [Share((model.parameters - all_experts) / mp / strategy.pp, dp, mp)]
    if all_experts:
        found.append(Share(all_experts / mp / strategy.pp / ep, dp // ep, mp * ep))
    return found


def footprint(model: Transformer, strategy: Strategy, training: Training) -> Footprint:
    """Return the footprint of the NPU that needs the most memory.

    States are shared evenly. Activations of a layer and microbatch are s b h (10 + 24/MP +
    5 a s/(h MP)) bytes, without the last term where scores are computed again, with 10/MP for
    sequence parallelism; where whole layers are, 2 s b h and once a layer's working set
    (Korthikanti et al., arXiv 2205.05198, table 2). The first stage of a pipeline keeps those of
    PP microbatches, or of all where there are fewer; with v pieces of the network on each NPU
    (PP - 1)/(PP v) more (ibid., appendix). Of experts an NPU has those of its group alone, with
    DP/EP replicas (DeepSpeed-MoE, arXiv 2201.05596).
    """
    samples = training.samples(strategy.dp)
    held = min(strategy.pp, training.microbatches(strategy.dp))
    if training.interleave > 1:
        held *= 1 + (strategy.pp - 1) / (strategy.pp * training.interleave)
    in_flight = held * model.layers / strategy.pp
    scores = training.recompute == "none"
    sequence = training.sequence_parallel
    stored = model.stored_bytes(samples, strategy.mp, scores=scores, sequence=sequence)
    if training.recompute == "full":
        working = model.stored_bytes(samples, strategy.mp, scores=True, sequence=sequence)
        share = strategy.mp if sequence else 1
        activations = in_flight * model.input_bytes(samples) / share + working
    else:
        activations = in_flight * stored
    states = sum(
        state_bytes(one.parameters, one.replicas, training.zero, training.gradient_bytes)
        for one in shares(model, strategy)
    )
    return Footprint(states, activations)
