"""Time of a training iteration on a cluster, in closed form."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import ceil

from fred_hw.compiler.placement import Strategy
from perfmodel.constants import NUMBER_BYTES

from .footprint import Training, shares
from .hardware import Npu
from .model import Product, Transformer
from .network import Level, all_reduce_s, all_to_all_s, send_s
from .traffic import gemm_bytes, tile

__all__ = ["OPTIMIZER_MOVED_BYTES", "Times", "times"]

OPTIMIZER_MOVED_BYTES = 26
"""Bytes that Adam moves per parameter besides the gradient [B]: FP32 weight, momentum and variance
read and written, and the FP16 weight written."""


@dataclass(frozen=True, slots=True)
class Times:
    """Time of an iteration by activity; the parts add up to the whole.

    Parameters
    ----------
    forward_s, recompute_s, backward_s, optimizer_s : float
        Compute of the busiest stage [s].
    mp_s : float
        All-reduces of activations, which are all exposed [s].
    pp_s : float
        Messages between stages [s].
    dp_s : float
        Reduction of gradients that no backward pass hides [s].
    bubble_s : float
        Waiting for the pipeline to fill and drain [s].
    ep_s : float
        All-to-alls between experts, which are all exposed [s].
    """

    forward_s: float
    recompute_s: float
    backward_s: float
    optimizer_s: float
    mp_s: float
    pp_s: float
    dp_s: float
    bubble_s: float
    ep_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Total time of the iteration [s]."""
        return sum(getattr(self, one.name) for one in fields(self))


@dataclass(frozen=True, slots=True)
class _Roofline:
    """Roofline times on an NPU with a given memory bandwidth."""

    flops_per_s: float
    bytes_per_s: float
    side: int

    def moved_s(self, moved_bytes: float) -> float:
        return moved_bytes / self.bytes_per_s

    def product_s(self, one: Product) -> float:
        """Return the time of a matrix product: the longer of compute and memory traffic."""
        flops = 2 * one.m * one.k * one.n * one.count
        return max(flops / self.flops_per_s, self.moved_s(gemm_bytes(one, self.side)))

    def forward_s(self, products: Iterable[Product]) -> float:
        return sum(self.product_s(one) for one in products)

    def backward_s(self, products: Iterable[Product]) -> float:
        """Return the time of the gradients of both operands, one product each."""
        return sum(
            self.product_s(Product(one.m, one.n, one.k, one.count))
            + self.product_s(Product(one.k, one.m, one.n, one.count))
            for one in products
        )


@dataclass(frozen=True, slots=True)
class _Layer:
    """Compute of a layer for a microbatch; ``again_s`` is the recomputation [s]."""

    forward_s: float
    backward_s: float
    again_s: float

    @property
    def total_s(self) -> float:
        return self.forward_s + self.backward_s + self.again_s


def times(
    model: Transformer,
    strategy: Strategy,
    training: Training,
    npu: Npu,
    levels: tuple[Level, ...],
    bytes_per_s: float,
) -> Times:
    """Return the time of an iteration by activity.

    Each product takes the longer of its operations and its traffic, what lies between products
    its traffic, one after the other. A layer has two all-reduces of 2 s b h bytes along MP in each
    pass (Megatron-LM, arXiv 1909.08053), also where it is computed again; sequence parallelism
    moves as much in reduce-scatters and all-gathers (arXiv 2205.05198). Gradients, 2 bytes each,
    are reduced along DP, half as much again with ZeRO stage 3 (arXiv 1910.02054, section 7). A
    pipeline takes its microbatches through the stage with most layers and the logits, and waits
    (PP - 1)/v microbatches for it to fill and drain, for v pieces on each NPU (arXiv 2104.04473,
    section 2.2). MP neighbours are side by side, then DP, then PP. With experts a layer has two
    all-to-alls of each token's numbers for each of its experts along EP in each pass (GShard, arXiv
    2006.16668, section 3.2), among neighbours along DP; gradients of experts are reduced by the
    replicas that have them.

    Parameters
    ----------
    model : Transformer
        Sizes.
    strategy : Strategy
        Strategy that divides the workload over all NPUs.
    training : Training
        Batch and so on.
    npu : Npu
        Rates, of which the memory's is given by ``bytes_per_s``.
    levels : tuple of Level
        The network.
    bytes_per_s : float
        Bandwidth of local and expanded memory together [B/s].
    """
    mp, dp, pp = strategy.mp, strategy.dp, strategy.pp
    samples, count = training.samples(dp), training.microbatches(dp)
    roofline = _roofline(npu, bytes_per_s)
    layer = _layer(model, samples, strategy, training, roofline)
    layers = ceil(model.layers / pp)
    reduce_s, exchange_s = _waits(model, strategy, training, levels)
    send = send_s(levels, pp, mp * dp, model.input_bytes(samples) / mp)
    logits = [model.logits(samples, mp)]
    moved, gradients_s = _updates(model, strategy, training, levels)
    hidden_s = layers * layer.backward_s if training.overlap else 0.0
    return Times(
        forward_s=count * (layers * layer.forward_s + roofline.forward_s(logits)),
        recompute_s=count * layers * layer.again_s,
        backward_s=count * (layers * layer.backward_s + roofline.backward_s(logits)),
        optimizer_s=roofline.moved_s(moved),
        mp_s=count * layers * reduce_s,
        pp_s=2 * count * training.interleave * send,
        dp_s=max(0.0, gradients_s - hidden_s),
        bubble_s=(pp - 1) / training.interleave * layers * (layer.total_s + reduce_s + exchange_s),
        ep_s=count * layers * exchange_s,
    )


def _waits(
    model: Transformer, strategy: Strategy, training: Training, levels: tuple[Level, ...]
) -> tuple[float, float]:
    """Return the times of MP all-reduces and of expert all-to-alls in a layer, all passes [s]."""
    mp, samples = strategy.mp, training.samples(strategy.dp)
    times_done = 6 if training.recompute == "full" else 4
    reduce_s = all_reduce_s(levels, mp, 1, model.input_bytes(samples))
    exchange_s = all_to_all_s(levels, strategy.ep, mp, model.exchanged_bytes(samples, mp))
    return times_done * reduce_s, times_done * exchange_s


def _updates(
    model: Transformer, strategy: Strategy, training: Training, levels: tuple[Level, ...]
) -> tuple[float, float]:
    """Return the bytes that the optimizer moves on an NPU, and the gradient reduction time [s]."""
    parts = shares(model, strategy)
    updated = sum(one.parameters / (one.replicas if training.zero else 1) for one in parts)
    moved = updated * (OPTIMIZER_MOVED_BYTES + training.gradient_bytes)
    rounds = 1.5 if training.zero == 3 else 1.0
    reduced = (
        all_reduce_s(levels, one.replicas, one.stride, NUMBER_BYTES * one.parameters)
        for one in parts
    )
    return moved, rounds * sum(reduced)


def _roofline(npu: Npu, bytes_per_s: float) -> _Roofline:
    return _Roofline(
        npu.peak_flops * npu.matmul_efficiency,
        bytes_per_s * npu.memory_efficiency,
        tile(npu.buffer_bytes),
    )


def _layer(
    model: Transformer, samples: float, strategy: Strategy, training: Training, roofline: _Roofline
) -> _Layer:
    """Return the compute of a layer for a microbatch."""
    mp = strategy.mp
    products = list(model.products(samples, mp, strategy.ep))
    attention = list(model.attention(samples, mp))
    softmax_s = roofline.moved_s(model.score_bytes(samples, mp))
    sequence = training.sequence_parallel
    between_s = roofline.moved_s(model.moved_bytes(samples, mp, sequence=sequence)) + softmax_s
    forward_s = roofline.forward_s([*products, *attention]) + between_s
    scores_s = roofline.forward_s(attention) + softmax_s
    return _Layer(
        forward_s=forward_s,
        backward_s=roofline.backward_s([*products, *attention]) + 2 * between_s,
        again_s={"none": 0.0, "selective": scores_s, "full": forward_s}[training.recompute],
    )
