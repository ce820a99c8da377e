"""Networks of LIBRA: dimensions of blocks, and the cost of their bandwidth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

__all__ = ["BLOCKS", "TIERS", "Dimension", "Prices", "cost_per_byte_per_s"]

BLOCKS = ("ring", "fully_connected", "switch")
"""Ways to connect the NPUs of a dimension."""


class Prices(NamedTuple):
    """Prices of a link, of a port of a switch and of a network interface [$ per GB/s]."""

    link: float
    switch: float = 0.0
    nic: float = 0.0


TIERS: Mapping[str, Prices] = {
    "chiplet": Prices(2.0),
    "package": Prices(4.0, 13.0),
    "node": Prices(4.0, 13.0),
    "pod": Prices(7.8, 18.0, 31.6),
}
"""Prices by what a dimension connects, as the LIBRA authors ship them."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a network.

    Parameters
    ----------
    block : str
        One of ``BLOCKS``.
    npus : int
        NPUs in a line along the dimension.
    link, switch, nic : float
        Prices of a link, of a port of a switch and of a network interface [$ per B/s]. Those of
        switches and network interfaces count in dimensions with switches alone.
    """

    block: str
    npus: int
    link: float = 0.0
    switch: float = 0.0
    nic: float = 0.0

    @classmethod
    def priced(cls, block: str, npus: int, prices: Prices) -> "Dimension":
        """Return a dimension with prices in $ per GB/s."""
        return cls(block, npus, *(price / 1e9 for price in prices))


def cost_per_byte_per_s(dimensions: Sequence[Dimension]) -> tuple[float, ...]:
    """Return the cost of each dimension per unit of bandwidth of one NPU [$ per B/s].

    A ring of n NPUs has 2 n links with half the bandwidth of an NPU, n fully connected NPUs have n
    (n - 1) links with 1 / (n - 1) of it, and a switch has a link of full bandwidth to every NPU
    below it.
    """
    npus = prod(one.npus for one in dimensions)
    found: list[float] = []
    for place, one in enumerate(dimensions):
        n = one.npus
        if one.block == "ring":
            bandwidth, price = npus // n * 2 * n * 0.5, one.link
        elif one.block == "fully_connected":
            bandwidth, price = npus // n * n, one.link
        else:
            below = prod(other.npus for other in dimensions[: place + 1])
            bandwidth, price = npus // below * below, one.link + one.switch + one.nic
        found.append(bandwidth * price)
    return tuple(found)
