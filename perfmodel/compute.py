"""Compute time from first principles: the roofline of an NPU."""

from dataclasses import dataclass

from fred_hw.compiler.placement import Strategy

from .constants import HBM_BYTES_PER_S
from .workload import Workload

__all__ = ["NUMBER_BYTES", "PEAK_FLOPS", "ComputeTime", "Npu", "compute_time"]

PEAK_FLOPS = 989.4e12
"""Dense FP16 tensor peak of an H100 SXM [FLOP/s]: NVIDIA H100 data sheet, without sparsity."""

NUMBER_BYTES = 2
"""Bytes of an FP16 weight or gradient [B]."""


@dataclass(frozen=True, slots=True)
class Npu:
    """One NPU.

    Parameters
    ----------
    peak_flops : float
        Operations per second at full rate [FLOP/s].
    hbm_bytes_per_s : float
        Memory bandwidth [B/s].
    efficiency : float
        Share of ``peak_flops`` that kernels reach, above 0 and at most 1. The default 1 is the
        roofline itself, the least time possible: an assumption, not a measurement.

    Raises
    ------
    ValueError
        A value is out of range.
    """

    peak_flops: float = PEAK_FLOPS
    hbm_bytes_per_s: float = HBM_BYTES_PER_S
    efficiency: float = 1.0

    def __post_init__(self) -> None:
        for name in ("peak_flops", "hbm_bytes_per_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"Npu {name} must be above 0, not {getattr(self, name)!r}")
        if not 0 < self.efficiency <= 1:
            raise ValueError(
                f"Npu efficiency must be above 0 and at most 1, not {self.efficiency!r}"
            )

    def time_s(self, flops: float, moved_bytes: float) -> float:
        """Return the time of so many operations and bytes from or to memory [s]."""
        return max(flops / (self.peak_flops * self.efficiency), moved_bytes / self.hbm_bytes_per_s)


@dataclass(frozen=True, slots=True)
class ComputeTime:
    """Compute of one training iteration on one NPU.

    Parameters
    ----------
    forward_s, backward_s : float
        Time of the two passes over all microbatches [s].
    forward_flops, backward_flops : float
        Their operations on this NPU.
    forward_bytes, backward_bytes : float
        Bytes from or to memory on this NPU [B].
    assumptions : tuple of str
        What these numbers take for granted.
    """

    forward_s: float
    backward_s: float
    forward_flops: float
    backward_flops: float
    forward_bytes: float
    backward_bytes: float
    assumptions: tuple[str, ...]

    @property
    def total_s(self) -> float:
        """Both passes [s]."""
        return self.forward_s + self.backward_s


def compute_time(workload: Workload, strategy: Strategy, npu: Npu | None = None) -> ComputeTime:
    """Return the compute time of an iteration on each NPU.

    A replica of MP * PP NPUs shares operations and weights evenly. The backward pass has twice
    the operations of the forward pass (gradients of weights and of inputs). Memory moves, for
    each microbatch, the weights once forward, and backward the weights once and the gradients
    once; activations are taken to stay on the chip.
    """
    npu = npu or Npu()
    shares = strategy.mp * strategy.pp
    flops = workload.samples_per_replica * workload.network.forward_flops / shares
    moved = workload.microbatches * NUMBER_BYTES * workload.network.parameters / shares
    roofline = (
        f"compute is a roofline of {npu.peak_flops:g} FLOP/s at efficiency {npu.efficiency:g} "
        f"and {npu.hbm_bytes_per_s:g} B/s of memory"
    )
    return ComputeTime(
        forward_s=npu.time_s(flops, moved),
        backward_s=npu.time_s(2 * flops, 2 * moved),
        forward_flops=flops,
        backward_flops=2 * flops,
        forward_bytes=moved,
        backward_bytes=2 * moved,
        assumptions=(
            roofline,
            "backward pass has twice the operations of the forward pass; nothing is recomputed",
            "memory moves weights and gradients once per microbatch and pass, activations never",
            "work and weights are shared evenly by the NPUs of a replica",
        ),
    )
