"""Published figures that ours are put beside; nothing here enters a result."""

from dataclasses import dataclass

__all__ = ["ALL_REDUCE_BANDWIDTH", "Published"]

_PAPER = "Rashidi et al., FRED, arXiv 2406.19580"


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
    f"{_PAPER}: published rate of the in-network all-reduce, at which each byte crosses an NPU's "
    "link once; times 2 * 19 / 20 to compare with endpoint algorithms"
)

ALL_REDUCE_BANDWIDTH: dict[str, Published] = {
    "mesh:5x4": Published(1.5e12, f"{_PAPER}: effective NPU bandwidth, wafer-wide all-reduce"),
    "fred-a": Published(1.85e12, f"{_PAPER}: about, likewise"),
    "fred-b": Published(1.5e12 * 2 * 19 / 20, _IN_NETWORK),
    "fred-c": Published(3e12, f"{_PAPER}: effective NPU bandwidth, wafer-wide all-reduce"),
    "fred-d": Published(3e12 * 2 * 19 / 20, _IN_NETWORK),
}
"""Effective NPU bandwidth [B/s] of an all-reduce over 20 NPUs, 2 (N - 1) / N * bytes / time."""
