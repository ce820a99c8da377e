"""The hardware of a cluster: NPUs, memories and networks."""

from dataclasses import dataclass
from math import prod

from .network import Level
from .tiers import MemoryTier

__all__ = ["Cluster", "Npu"]


@dataclass(frozen=True, slots=True)
class Npu:
    """One NPU.

    Parameters
    ----------
    peak_flops : float
        Operations per second at full rate [FLOP/s].
    matmul_efficiency, memory_efficiency : float
        Shares of ``peak_flops`` and of the memory's bandwidth that are reached.
    buffer_bytes : float
        Memory on the chip that products work in [B].
    """

    peak_flops: float
    matmul_efficiency: float
    memory_efficiency: float
    buffer_bytes: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """Identical NPUs on a network of levels.

    Parameters
    ----------
    npu : Npu
        Properties of each NPU.
    local : MemoryTier
        Its own memory.
    expanded : MemoryTier or None
        Additional memory, such as a pool.
    access : str
        One of ``tiers.ACCESS``.
    levels : tuple of Level
        Levels of the network, the innermost first.
    """

    npu: Npu
    local: MemoryTier
    expanded: MemoryTier | None
    access: str
    levels: tuple[Level, ...]

    @property
    def npus(self) -> int:
        """Number of NPUs."""
        return prod(level.fan_in for level in self.levels)
