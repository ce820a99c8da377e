"""Target clocks of generated hardware."""

from fred_hw.published import FLIT_BYTES, MESH_LINK_BYTES_PER_S, PORT_BYTES_PER_S

__all__ = ["CLOCK_HZ", "CLOCK_NS", "CLOCK_SOURCE", "ROUTER_CLOCK_HZ", "ROUTER_CLOCK_SOURCE"]

CLOCK_HZ = PORT_BYTES_PER_S / FLIT_BYTES
CLOCK_NS = 1e9 / CLOCK_HZ
CLOCK_SOURCE = (
    f"derived from the published port rate: {PORT_BYTES_PER_S / 1e9:.0f} GB/s in flits of "
    f"{FLIT_BYTES} B, one per cycle"
)

ROUTER_CLOCK_HZ = MESH_LINK_BYTES_PER_S / FLIT_BYTES
ROUTER_CLOCK_SOURCE = (
    f"derived from the published mesh link rate: {MESH_LINK_BYTES_PER_S / 1e9:.0f} GB/s in flits "
    f"of {FLIT_BYTES} B, one per cycle"
)
