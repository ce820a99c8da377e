"""Figures of Themis, in which each chunk of a collective has its own order of dimensions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .published import Published

__all__ = [
    "NETWORKS",
    "THEMIS_MEAN_SPEEDUP",
    "THEMIS_SPEEDUP",
    "THEMIS_TRAINING",
    "THEMIS_UTILIZATION",
    "TUTORIAL_US",
    "Gain",
    "Line",
]

_PAPER = "Rashidi et al., Themis, ISCA 2022, arXiv 2110.04478"
_ABSTRACT = f"{_PAPER}, abstract"
_DIGEST = f"{_PAPER}, mean over its networks, as reported by a digest"
_TUTORIAL = "ASTRA-sim tutorial at ASPLOS 2023, exercise 3-1"

Line = tuple[Literal["switch", "ring", "fully_connected"], int, float]
"""Connection of the NPUs in a line, their number, and Gb/s per NPU."""


@dataclass(frozen=True, slots=True)
class Gain:
    """Speed-up of training relative to the fixed order of dimensions.

    Parameters
    ----------
    mean, most : Published
        By Themis: the mean over its networks, and the largest.
    ideal : Published
        By networks that collectives use to the full, the mean.
    """

    mean: Published
    most: Published
    ideal: Published


def _gain(mean: str, most: str, ideal: str) -> Gain:
    return Gain(Published(mean, _ABSTRACT), Published(most, _ABSTRACT), Published(ideal, _DIGEST))


THEMIS_TRAINING: Mapping[str, Gain] = {
    "ResNet-152": _gain("1.49", "2.25", "1.54"),
    "GNMT": _gain("1.30", "1.78", "1.32"),
    "DLRM": _gain("1.30", "1.77", "1.33"),
    "Transformer-1T": _gain("1.25", "1.53", "1.26"),
}

THEMIS_UTILIZATION: Mapping[tuple[str, str], Published] = {
    ("dimension_order", "fifo"): Published("56.31", _DIGEST),
    ("themis", "fifo"): Published("87.67", _DIGEST),
    ("themis", "scf"): Published("95.14", _DIGEST),
}
"""Utilization of an all-reduce [%], by the order of dimensions and the order within a dimension."""

THEMIS_MEAN_SPEEDUP = {"fifo": Published("1.58", _DIGEST), "scf": Published("1.72", _ABSTRACT)}
THEMIS_SPEEDUP = Published("2.70", _ABSTRACT)
"""Largest speed-up of an all-reduce relative to the fixed order; the mean is above."""

TUTORIAL_US: Mapping[str, Published] = {
    "dimension_order": Published("35008.129", _TUTORIAL),
    "themis": Published("13635.871", _TUTORIAL),
}
"""Time of an all-reduce of 1 GiB on three switch dimensions of 8 NPUs, 50 GiB/s per NPU each
[us]."""

NETWORKS: Mapping[str, tuple[Line, ...]] = {
    "2D SW_SW": (("switch", 16, 1200), ("switch", 64, 800)),
    "3D SW_SW_SW homogeneous": (("switch", 16, 800), ("switch", 8, 800), ("switch", 8, 800)),
    "3D SW_SW_SW heterogeneous": (("switch", 16, 1600), ("switch", 8, 800), ("switch", 8, 400)),
    "3D FC_Ring_SW": (("fully_connected", 8, 1400), ("ring", 16, 800), ("switch", 8, 400)),
    "4D Ring_SW_SW_SW": (
        ("ring", 4, 2000),
        ("switch", 4, 1600),
        ("switch", 8, 800),
        ("switch", 8, 400),
    ),
    "4D Ring_FC_Ring_SW": (
        ("ring", 4, 3000),
        ("fully_connected", 8, 1400),
        ("ring", 4, 1200),
        ("switch", 8, 800),
    ),
}
"""Networks of the evaluation, 1,024 NPUs each; reconstructed so that the authors' code gives the
published mean utilizations on them."""
