"""Published figures of the hardware (FRED, arXiv 2406.19580 v2)."""

__all__ = ["CONFIGURATION_BYTES", "FLIT_BYTES", "MESH_LINK_BYTES_PER_S", "PORT_BYTES_PER_S"]

CONFIGURATION_BYTES = 1536
"""Size of a switch's configuration memory, 1.5 KB [B]."""

FLIT_BYTES = 512
"""Payload of a flit [B]."""

PORT_BYTES_PER_S = 600e9
"""Bandwidth of a switch chiplet port, in each direction [B/s]."""

MESH_LINK_BYTES_PER_S = 750e9
"""Bandwidth of one of the four links of an NPU in the baseline mesh, each direction [B/s]."""
