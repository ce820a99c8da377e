"""The clock that generated hardware is meant for."""

__all__ = ["CLOCK_HZ", "CLOCK_NS", "CLOCK_SOURCE"]

CLOCK_HZ = 600e9 / 512
CLOCK_NS = 1e9 / CLOCK_HZ
CLOCK_SOURCE = "derived from the published port rate: 600 GB/s in flits of 512 B, one per cycle"
