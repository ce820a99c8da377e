"""Figures derived from published figures, with the steps of each derivation."""

from dataclasses import dataclass

from perfmodel.published import (
    CHIPLET_AREA_MM2,
    PAPER,
    STRATEGY_BANDWIDTH,
    SWITCH_AREA,
    WAFER_BANDWIDTH,
    Published,
)

__all__ = [
    "ALL_REDUCE_BANDWIDTH",
    "CHIPLET_AREA",
    "DP_BANDWIDTH",
    "RESNET_COMPUTE_US",
    "RESNET_DP_MB",
    "RESNET_DP_US",
    "Derived",
]


@dataclass(frozen=True, slots=True)
class Derived:
    """A derived figure.

    Parameters
    ----------
    value : float
        The figure, in SI base units or in the unit that is named where it stands.
    steps : str
        From what, and how.
    """

    value: float
    steps: str

    @property
    def source(self) -> str:
        """The steps of the derivation, marked as derived."""
        return f"ours: {self.steps}"


def _endpoint(figure: Published) -> Derived:
    steps = f"published {figure.value / 1e12:g} TB/s, at which each byte crosses the link once"
    return Derived(figure.value * 2 * 19 / 20, f"{steps}, times 2 x 19 / 20")


ALL_REDUCE_BANDWIDTH: dict[str, Published | Derived] = {
    name: _endpoint(figure) if name in ("fred-b", "fred-d") else figure
    for name, figure in WAFER_BANDWIDTH.items()
}
"""Bus bandwidth [B/s] of an all-reduce over 20 NPUs, 2 (N - 1) / N * bytes / time."""

DP_BANDWIDTH: dict[str, Published | Derived] = {
    **STRATEGY_BANDWIDTH["dp"],
    "fred-b": Derived(
        375e9, "each NPU's share of the 1.5 TB/s uplink, which 4 groups use; bytes of the vector"
    ),
    "fred-d": Derived(3e12, "the NPU's own link, as the uplink has 12 TB/s; bytes of the vector"),
}
"""Bytes of the DP all-reduce of MP2-DP5-PP2 over its time [B/s]; endpoints send 1.6 times."""

RESNET_DP_MB = Derived(228.0, "60 M parameters of 2 bytes, times 2 x 19 / 20")
"""Bytes that an NPU's endpoint sends for the gradients of ResNet-152 [MB]."""

RESNET_DP_US: dict[str, Derived] = {
    "mesh:5x4": Derived(152.0, "228 MB at 1.5 TB/s"),
    "fred-c": Derived(76.0, "228 MB at 3 TB/s"),
    "fred-d": Derived(40.0, "120 MB at 3 TB/s"),
}
"""Gradient all-reduce of ResNet-152 [us]."""

RESNET_COMPUTE_US = Derived(
    109.0, f"(152 µs + x) / (76 µs + x) = 1.41 for x, the speed-up from {PAPER}, section 8.2"
)
"""Compute time of ResNet-152 implied by the published speed-up of FRED-C [us]."""

CHIPLET_AREA: dict[int, Derived] = {
    ports: Derived(
        area,
        f"15 of 12 ports, 10 of 11 and 10 of 10 make the published {SWITCH_AREA.printed} mm2; "
        "the paper's table is an image",
    )
    for ports, area in CHIPLET_AREA_MM2.items()
}
"""Area of a switch chiplet by number of ports [mm2]."""
