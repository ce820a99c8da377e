"""All-reduces of MultiTree: cycles from its public code, run with its network simulator.

The runs are of a 4 x 4 torus or mesh at 1 GHz with links of 16 B per cycle and 150 cycles. The code
counts a 2D ring twice, for the two halves of the data.
"""

from .published import Published

__all__ = ["ALL_REDUCE_CYCLES"]

_SOURCE = (
    "MultiTree (ISCA 2021, DOI 10.1109/ISCA52012.2021.00023), public code "
    "github.com/farabimahmud/accelerator, run with its BookSim"
)

_CYCLES = {
    ("mesh:4x4", 32): {"packets": "5368", "messages": "5313", "ring": "9345", "ring2d": "7986"},
    ("mesh:4x4", 128): {
        "packets": "17571",
        "messages": "15805",
        "ring": "22305",
        "ring2d": "25440",
    },
    ("torus:4x4", 32): {
        "one-interface": "4570",
        "packets": "3508",
        "messages": "3272",
        "ring": "9344",
        "ring2d": "5860",
    },
    ("torus:4x4", 128): {
        "one-interface": "16858",
        "packets": "11103",
        "messages": "9501",
        "ring": "22304",
        "ring2d": "16916",
    },
}

ALL_REDUCE_CYCLES = {
    (topology, kib, how): Published(printed, _SOURCE)
    for (topology, kib), cycles in _CYCLES.items()
    for how, printed in cycles.items()
}
"""Cycles by topology, KiB and method: rings, or MultiTree with packets of 256 B, with one head flit
for each tree's message (its message-based flow control), or with packets and one interface per
node."""
