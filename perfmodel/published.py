"""Published figures that ours are put beside; nothing here enters a result."""

from dataclasses import dataclass

__all__ = [
    "ALL_REDUCE_BANDWIDTH",
    "BISECTION",
    "CHIPLET_AREA_MM2",
    "PAPER",
    "SPEEDUP_C",
    "SPEEDUP_D",
    "STRATEGY_BANDWIDTH",
    "SWEEPS",
    "WAFER_BANDWIDTH",
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
        The figure, in SI base units.
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

CHIPLET_AREA_MM2 = {12: 685.0, 11: 678.0, 10: 814.0}
"""Area of a switch chiplet by its ports [mm2] (FRED, arXiv 2406.19580)."""


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
