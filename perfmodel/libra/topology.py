"""The cost of a topology: the price of the bandwidth of its dimensions."""

from collections.abc import Sequence

from fred_hw.errors import InputError
from perfmodel.topology.graph import Topology

from .network import BLOCKS, Dimension, Prices, cost_per_byte_per_s

__all__ = ["cost_of"]


def cost_of(topology: Topology, prices: Sequence[Prices]) -> float:
    """Return the cost of the links, switches and network interfaces between NPUs [$].

    Bandwidth is that of links, of which protocols leave a part for payload.

    Parameters
    ----------
    topology : Topology
        Topology with dimensions of rings, full connections or switches.
    prices : sequence of Prices
        Prices of each dimension, the innermost first.

    Raises
    ------
    InputError
        The topology has no such dimensions, or another number of them.
    """
    dimensions = topology.scheduling_dimensions
    name = topology.name
    if not dimensions or any(one.kind not in BLOCKS for one in dimensions):
        known = "rings, full connections or switches"
        message = f"must be left out: {name} does not consist of {known}"
        raise InputError("", "tiers", message)
    if (count := len(dimensions)) != len(prices):
        message = f"must have {count} tiers, one per dimension of {name}, not {len(prices)}"
        raise InputError("", "tiers", message)
    pairs = zip(dimensions, prices, strict=True)
    costs = cost_per_byte_per_s([Dimension.priced(one.kind, one.npus, p) for one, p in pairs])
    rates = (one.npu_bytes_per_s(one.npus) / one.efficiency for one in dimensions)
    return sum(cost * rate for cost, rate in zip(costs, rates, strict=True))
