"""The clocks that generated hardware is meant for."""

__all__ = ["CLOCK_HZ", "CLOCK_NS", "CLOCK_SOURCE", "ROUTER_CLOCK_HZ", "ROUTER_CLOCK_SOURCE"]

CLOCK_HZ = 600e9 / 512
CLOCK_NS = 1e9 / CLOCK_HZ
CLOCK_SOURCE = "derived from the published port rate: 600 GB/s in flits of 512 B, one per cycle"

ROUTER_CLOCK_HZ = 750e9 / 512
ROUTER_CLOCK_SOURCE = (
    "derived from the published mesh link rate: 750 GB/s in flits of 512 B, one per cycle"
)
