"""Compute time from first principles: the roofline of an NPU, operator by operator."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

from perfmodel.constants import HBM_BYTES, NUMBER_BYTES
from perfmodel.published import HBM_BYTES_PER_S
from perfmodel.workloads.layers import KINDS, Layer, Operator

__all__ = ["EFFICIENCY", "PEAK_FLOPS", "LayerTime", "Npu", "forward_work", "layer_time", "npu_of"]

PEAK_FLOPS = 989.4e12
"""Dense FP16 tensor peak of an H100 SXM [FLOP/s]: NVIDIA H100 data sheet, without sparsity."""

EFFICIENCY: Mapping[str, float] = MappingProxyType(
    {
        # Shah et al., FlashAttention-3, arXiv 2407.08608: up to 740 TFLOP/s in FP16 on an H100.
        "attention": 0.75,
        # Assumption: dense products reach the same share; those of large models are as regular.
        "matmul": 0.75,
        # Assumption: 3x3 and 1x1 convolutions of a residual network reuse data less.
        "convolution": 0.5,
        # Assumption: these move more data than they compute; memory bandwidth sets their time.
        "normalization": 0.05,
        "elementwise": 0.05,
        "embedding": 0.05,
    }
)
"""Fraction of ``PEAK_FLOPS`` that each kind of operator reaches."""


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Time of the two passes of a layer on one NPU [s]."""

    forward_s: float
    backward_s: float


@dataclass(frozen=True)
class Npu:
    """Rates and memory of one NPU, all above 0 and finite.

    Parameters
    ----------
    peak_flops : float
        Operations per second at full rate [FLOP/s].
    hbm_bytes_per_s : float
        Memory bandwidth [B/s].
    hbm_bytes : float
        Memory capacity [B].
    efficiency : mapping
        Share of ``peak_flops`` that each kind of operator reaches, above 0 and at most 1.

    Raises
    ------
    ValueError
        A value is out of range.
    """

    peak_flops: float = PEAK_FLOPS
    hbm_bytes_per_s: float = HBM_BYTES_PER_S
    hbm_bytes: float = HBM_BYTES
    efficiency: Mapping[str, float] = field(default_factory=lambda: EFFICIENCY)

    def __post_init__(self) -> None:
        for name in ("peak_flops", "hbm_bytes_per_s", "hbm_bytes"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ValueError(f"Npu {name} must be above 0 and finite, not {value!r}")
        if set(self.efficiency) != set(KINDS):
            given = ", ".join(sorted(self.efficiency))
            raise ValueError(f"Npu efficiency must be given for {', '.join(KINDS)}, not {given}")
        for kind, share in self.efficiency.items():
            if not 0 < share <= 1:
                raise ValueError(
                    f"Npu efficiency of {kind} must be above 0 and at most 1, not {share!r}"
                )

    @property
    def rates(self) -> dict[str, float]:
        """Rates, memory and efficiencies, keyed as in a file."""
        names = ("peak_flops", "hbm_bytes_per_s", "hbm_bytes")
        shares = {f"efficiency.{kind}": share for kind, share in self.efficiency.items()}
        return {**{name: getattr(self, name) for name in names}, **shares}

    def without(self, core_share: float, memory_share: float) -> Self:
        """Return the NPU without the shares of cores and memory that communication takes."""
        return replace(
            self,
            peak_flops=self.peak_flops * (1 - core_share),
            hbm_bytes_per_s=self.hbm_bytes_per_s * (1 - memory_share),
        )

    def time_s(self, kind: str, flops: float, moved_bytes: float) -> float:
        """Return the time of operations of a kind that move bytes from or to memory [s]."""
        return max(
            flops / (self.peak_flops * self.efficiency[kind]), moved_bytes / self.hbm_bytes_per_s
        )

    def pass_s(self, operator: Operator, samples: float, mp: int) -> float:
        """Return the time of an operator's forward pass, shared by a number of NPUs [s]."""
        return self.time_s(operator.kind, *_work(operator, samples, mp))

    def layer_s(self, layer: Layer, samples: float, mp: int) -> LayerTime:
        """Return the time of both passes of a layer, shared by a number of NPUs.

        A backward pass takes twice as long as the forward pass, which is all operators.
        """
        forward = sum(self.pass_s(operator, samples, mp) for operator in layer.operators)
        return LayerTime(forward, 2 * forward)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of compute times."""
        shares = ", ".join(f"{kind} {share:g}" for kind, share in self.efficiency.items())
        return (
            (
                f"compute is a roofline of {self.peak_flops:g} FLOP/s at efficiency {shares}, "
                f"and of {self.hbm_bytes_per_s:g} B/s of memory"
            ),
            "a backward pass has twice the operations and the traffic of the forward pass",
            "each operator reads its inputs and weights from memory and writes its outputs to it",
            "operators run one after the other, and compute never slows down communication",
        )


def _work(operator: Operator, samples: float, mp: int) -> tuple[float, float]:
    """Return operations of a forward pass on each of ``mp`` NPUs, and the bytes it moves."""
    moved = operator.moved_numbers * samples + operator.read_parameters
    return operator.flops * samples / mp, NUMBER_BYTES * moved / mp


def forward_work(layer: Layer, samples: float, mp: int) -> tuple[float, float]:
    """Return the operations of a layer's forward pass, and the bytes from or to memory.

    Each of ``mp`` NPUs that share the layer has this work; a backward pass has twice as much.
    """
    found = [_work(operator, samples, mp) for operator in layer.operators]
    return sum(operations for operations, _ in found), sum(moved for _, moved in found)


def npu_of(rates: Mapping[str, Any]) -> Npu:
    """Return an NPU with the given rates (``Topology.npu_rates``), others by default."""
    shares = {**EFFICIENCY, **rates.get("efficiency", {})}
    return replace(Npu(), **{**rates, "efficiency": shares})


def layer_time(layer: Layer, samples: float, mp: int, npu: Npu) -> LayerTime:
    """Return the time of a layer for a number of samples.

    Operators are split evenly; where Megatron-LM splits no product, by tokens (sequence
    parallelism, Korthikanti et al., arXiv 2205.05198, which moves equally many bytes).

    Parameters
    ----------
    layer : Layer
        The layer.
    samples : float
        Samples that are processed at once.
    mp : int
        Number of NPUs that share the layer.
    npu : Npu
        Properties of each NPU.

    Raises
    ------
    ValueError
        The layer does not split and ``mp`` is not 1.
    """
    if mp != 1 and not layer.splits:
        raise ValueError(f"mp must be 1 for {layer.name}, which does not split, not {mp}")
    return npu.layer_s(layer, samples, mp)
