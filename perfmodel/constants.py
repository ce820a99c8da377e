"""Published constants of the wafer (Rashidi et al., arXiv 2406.19580 v2), in SI base units."""

__all__ = [
    "FRED_VARIANTS",
    "HBM_BYTES",
    "HBM_BYTES_PER_S",
    "IO_BYTES_PER_S",
    "LINK_LATENCY_S",
    "NPU_L1_BYTES_PER_S",
    "NUMBER_BYTES",
]

LINK_LATENCY_S = 20e-9
"""Latency of a link in one direction [s]."""

NPU_L1_BYTES_PER_S = 3e12
"""Bandwidth between an NPU and its L1 switch, each direction [B/s]."""

IO_BYTES_PER_S = 128e9
"""Bandwidth of an I/O controller, each direction [B/s]."""

HBM_BYTES_PER_S = 3e12
"""Bandwidth of the five HBM3 stacks of an NPU [B/s]."""

HBM_BYTES = 80e9
"""Memory of an NPU [B]: five stacks of 16 GB, as on the H100 that the published NPU is like."""

FRED_VARIANTS = {
    "fred-a": (1.5e12, False),
    "fred-b": (1.5e12, True),
    "fred-c": (12e12, False),
    "fred-d": (12e12, True),
}
"""Bandwidth between an L1 and the L2 [B/s], and whether switches reduce and multicast."""

NUMBER_BYTES = 2
"""Bytes of an FP16 weight, gradient or activation [B]."""
