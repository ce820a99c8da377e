"""Published rates of links, and the flits that they carry (FRED, arXiv 2406.19580 v2)."""

__all__ = ["FLIT_BYTES", "MESH_LINK_BYTES_PER_S", "PORT_BYTES_PER_S"]

FLIT_BYTES = 512
"""Payload of a flit [B]."""

PORT_BYTES_PER_S = 600e9
"""Bandwidth of a port of a switch chiplet, each direction [B/s]."""

MESH_LINK_BYTES_PER_S = 750e9
"""Bandwidth of one of the four links of an NPU in the baseline mesh, each direction [B/s]."""
