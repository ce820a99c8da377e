"""Published figures that ours are put beside; nothing here enters a result."""

from dataclasses import dataclass

__all__ = [
    "ALL_REDUCE_BANDWIDTH",
    "BISECTION",
    "CHIPLET_AREA_MM2",
    "CHIPLET_PORT",
    "COMPUTE_AREA",
    "DENSE_IO_AREA",
    "IO_AREA_MM2",
    "IO_GB_PER_S_PER_MM",
    "LINE_RATE",
    "NPU_AREA_MM2",
    "PAPER",
    "PARAMETERS",
    "RESNET_COMPUTE_US",
    "RESNET_DP_MB",
    "RESNET_DP_US",
    "SPEEDUP_C",
    "SPEEDUP_D",
    "STRATEGY_BANDWIDTH",
    "SWEEPS",
    "SWITCH_AREA",
    "SWITCH_POWER",
    "SWITCH_POWER_W",
    "TRAFFIC_SAVED",
    "TRAFFIC_SHARE",
    "WAFER_BANDWIDTH",
    "WAFER_POWER_W",
    "WORST_LINK",
    "Published",
    "Sweep",
]

PAPER = "Rashidi et al., FRED, arXiv 2406.19580"


@dataclass(frozen=True, slots=True)
class Published:
    """A figure from the literature.

    Parameters
    ----------
    value : float
        The figure, in SI base units or in the unit that is named where it stands.
    source : str
        Where it stands, and what was done to it if it is derived.
    """

    value: float
    source: str


_IN_NETWORK = (
    f"{PAPER}: published rate of the in-network all-reduce, at which each byte crosses an NPU's "
    "link once; times 2 * 19 / 20 to compare with endpoint algorithms"
)

ALL_REDUCE_BANDWIDTH: dict[str, Published] = {
    "mesh:5x4": Published(1.5e12, f"{PAPER}: effective NPU bandwidth, wafer-wide all-reduce"),
    "fred-a": Published(1.85e12, f"{PAPER}: about, likewise"),
    "fred-b": Published(1.5e12 * 2 * 19 / 20, _IN_NETWORK),
    "fred-c": Published(3e12, f"{PAPER}: effective NPU bandwidth, wafer-wide all-reduce"),
    "fred-d": Published(3e12 * 2 * 19 / 20, _IN_NETWORK),
}
"""Effective NPU bandwidth [B/s] of an all-reduce over 20 NPUs, 2 (N - 1) / N * bytes / time."""

_TABLE = f"{PAPER}: end-to-end speed-up over the mesh"

SPEEDUP_C: dict[str, Published] = {
    "resnet-152": Published(1.41, _TABLE),
    "transformer-17b": Published(1.75, _TABLE),
    "gpt-3": Published(1.34, _TABLE),
    "transformer-1t": Published(1.4, _TABLE),
}
"""End-to-end speed-up of FRED-C over the mesh."""

SPEEDUP_D: dict[str, Published] = {
    "resnet-152": Published(1.76, _TABLE),
    "transformer-17b": Published(1.87, _TABLE),
    "gpt-3": Published(1.34, _TABLE),
    "transformer-1t": Published(1.4, _TABLE),
}
"""End-to-end speed-up of FRED-D over the mesh."""

_WAFER = f"{PAPER}: effective NPU bandwidth of a wafer-wide all-reduce"
_HALF = f"{_WAFER}; with about half the traffic, so this is bytes of the vector over time"

WAFER_BANDWIDTH: dict[str, Published] = {
    "mesh:5x4": Published(1.5e12, _WAFER),
    "fred-a": Published(1.85e12, f"{_WAFER}; about"),
    "fred-b": Published(1.5e12, _HALF),
    "fred-c": Published(3e12, _WAFER),
    "fred-d": Published(3e12, _HALF),
}
"""Bytes that an NPU sends in a wafer-wide all-reduce divided by its time [B/s], as published."""

_STRATEGY = f"{PAPER}: effective NPU bandwidth under MP2-DP5-PP2"
_LESS = f"{_STRATEGY}; with 37.5 % less traffic, so this is bytes of the vector over time"

STRATEGY_BANDWIDTH: dict[str, dict[str, Published]] = {
    "mp": {
        "mesh:5x4": Published(750e9, _STRATEGY),
        **{f"fred-{name}": Published(3e12, _STRATEGY) for name in "abcd"},
    },
    "dp": {
        "mesh:5x4": Published(750e9, _STRATEGY),
        "fred-a": Published(375e9, _STRATEGY),
        "fred-b": Published(375e9, _LESS),
        "fred-c": Published(3e12, _STRATEGY),
        "fred-d": Published(3e12, _LESS),
    },
    "pp": {
        "mesh:5x4": Published(750e9, _STRATEGY),
        **{f"fred-{name}": Published(3e12, _STRATEGY) for name in "abcd"},
    },
}
"""Bytes that an NPU sends divided by the time [B/s], of each communication of MP2-DP5-PP2."""

_BISECTION = f"{PAPER}: table of the fabrics"

BISECTION: dict[str, Published] = {
    "mesh:5x4": Published(3.75e12, f"{PAPER}: baseline mesh"),
    "fred-a": Published(3.75e12, _BISECTION),
    "fred-b": Published(3.75e12, _BISECTION),
    "fred-c": Published(30e12, _BISECTION),
    "fred-d": Published(30e12, _BISECTION),
}
"""Bisection bandwidth, one direction [B/s]."""

TRAFFIC_SHARE = Published(0.5, f"{PAPER}: about half the traffic")
"""Bytes that an NPU sends in a wafer-wide in-network all-reduce, endpoint algorithm = 1."""

TRAFFIC_SAVED = Published(37.5, _LESS)
"""Traffic that in-network collectives save in the DP all-reduce of MP2-DP5-PP2 [%]."""

WORST_LINK = Published(1152, f"{PAPER}: 9 x 128 GB/s")
"""Rate that the worst link of the 5 x 4 mesh would have to carry [GB/s]."""

_LINE_RATE = f"{PAPER}: 9 x 128 = 1152 GB/s against 750 GB/s; FRED at line rate"

LINE_RATE: dict[str, Published] = {
    "mesh:5x4": Published(0.65, _LINE_RATE),
    "fred-d": Published(1.0, _LINE_RATE),
    "fred-c": Published(1.0, _LINE_RATE),
}
"""Share of their line rate at which all I/O controllers broadcast."""

CHIPLET_AREA_MM2 = {12: 685.0, 11: 678.0, 10: 814.0}
"""Area of a switch chiplet by its ports [mm2] (FRED, arXiv 2406.19580)."""

CHIPLET_PORT = 600e9
"""Bandwidth of a port of a switch chiplet, each direction [B/s] (FRED, arXiv 2406.19580)."""

NPU_AREA_MM2, IO_AREA_MM2 = 1314, 20
"""Area of an NPU and of an I/O controller [mm2] (FRED, arXiv 2406.19580)."""

IO_GB_PER_S_PER_MM = (107.4, 250)
"""Bandwidth along the edge of a chiplet, and what a later technology has [GB/s/mm] (likewise)."""

SWITCH_POWER_W, WAFER_POWER_W = 179.35, 15000
"""Power of all switches, and that of the wafer [W] (likewise)."""

_AREA = f"{PAPER}: switch area"

SWITCH_AREA = Published(25195, _AREA)
"""Area of all switch chiplets [mm2]."""

COMPUTE_AREA = Published(26640, f"{PAPER}: 20 NPUs and 18 controllers")
"""Area of NPUs and I/O controllers [mm2]."""

DENSE_IO_AREA = Published(18.4, _AREA)
"""Area of the switches at the later density, of that at the first [%]."""

SWITCH_POWER = Published(1.2, f"{PAPER}: power overhead")
"""Power of the switches, of that of the wafer [%]."""

_RESNET = f"derived from {PAPER}: 228 MB per NPU of endpoint traffic at the published rates"

RESNET_DP_US: dict[str, Published] = {
    "mesh:5x4": Published(152.0, _RESNET),
    "fred-c": Published(76.0, _RESNET),
    "fred-d": Published(40.0, _RESNET),
}
"""Gradient all-reduce of ResNet-152 [us]."""

RESNET_DP_MB = Published(
    228.0, f"derived from {PAPER}: 60 M parameters, 2 (N - 1) / N times their bytes"
)
"""Endpoint traffic of the gradients of ResNet-152 per NPU [MB]."""

RESNET_COMPUTE_US = Published(109.0, f"derived from {PAPER}: solved from 152 us, 76 us and 1.41")
"""Compute of ResNet-152 that the published speed-up of FRED-C implies [us]."""

PARAMETERS: dict[str, Published] = {
    "resnet-152": Published(60.2e6, "torchvision, resnet152; He et al. give operations only"),
    "transformer-17b": Published(17.2e9, "Microsoft Research blog, Turing-NLG, 2020-02-10"),
    "gpt-3": Published(175e9, "Brown et al., arXiv 2005.14165, table 2.1"),
    "transformer-1t": Published(1008e9, "Narayanan et al., arXiv 2104.04473, table 1"),
}
"""Trained numbers of the networks."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The published averages over all strategies of 20 NPUs.

    Parameters
    ----------
    samples_per_replica : int
        Samples in an iteration for each replica.
    microbatches : dict
        By the number of pipeline stages.
    exposed, speedup : Published
        How much less exposed communication, and how much faster, FRED-D is than the mesh.
    best, best_source : str
        Strategy that is fastest on FRED-D, and where that stands.
    """

    samples_per_replica: int
    microbatches: dict[int, int]
    exposed: Published
    speedup: Published
    best: str
    best_source: str


_SWEEP = f"{PAPER}: average over all strategies, minibatch 40 x DP, FRED-D over the mesh"
_BEST = f"{PAPER}: with FRED-D the strategy with the least compute time is also the fastest"

SWEEPS: dict[str, Sweep] = {
    "transformer-17b": Sweep(
        40,
        {1: 1, 2: 10, 4: 20, 5: 20, 10: 20, 20: 40},
        Published(4.22, _SWEEP),
        Published(1.63, _SWEEP),
        "MP20-DP1-PP1",
        _BEST,
    ),
    "transformer-1t": Sweep(
        40,
        {1: 1, 2: 2, 4: 4, 5: 5, 10: 10, 20: 20},
        Published(3.92, _SWEEP),
        Published(1.44, _SWEEP),
        "MP5-DP1-PP4",
        _BEST,
    ),
}
"""Sweeps over strategies."""
