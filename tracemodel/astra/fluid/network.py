"""Network of the model ``fluid``: stacked dimensions, each of them a block or a built-in fabric."""

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from tracemodel.astra.network import Dimension, Network, Shape

from .lines import BlockLine, Line, Link, Route

__all__ = ["FluidNetwork", "WholeLine", "as_fluid"]

_MOST_ROUTES = 1 << 16


class FluidNetwork(Shape):
    """NPUs in one or more dimensions, with links that flows share.

    A link is identified by its dimension, the first NPU of its line, and its name in the line.

    Parameters
    ----------
    lines : sequence of Line
        Links of each line along a dimension, the innermost first.

    Raises
    ------
    ValueError
        There are no dimensions.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__([one.npus for one in lines])
        self.lines = tuple(lines)
        self.fabrics = [one.fabric for one in lines if one.fabric]
        self.route = lru_cache(_MOST_ROUTES)(self._route)

    def joins(self, dimension: int) -> Dimension | None:
        line = self.lines[dimension]
        return line.dimension if isinstance(line, BlockLine) else None

    def _route(self, source: int, target: int) -> Route:
        """Return the route between two NPUs, through each dimension in which they differ."""
        links, latency_ns = list[Link](), 0.0
        for number, first, places in self.crossings(source, target):
            route = self.lines[number].route(*places)
            links.extend((number, first, one) for one in route.links)
            latency_ns += route.latency_ns
        return Route(tuple(links), latency_ns)

    def bytes_per_ns(self, link: Link) -> float:
        """Return the rate of a link [bytes per ns]."""
        number, _, one = cast("tuple[int, int, Link]", link)
        return self.lines[number].bytes_per_ns(one)


def as_fluid(network: Network | FluidNetwork) -> FluidNetwork:
    """Return a network with lines of links that messages share."""
    if isinstance(network, FluidNetwork):
        return network
    return FluidNetwork([BlockLine(one) for one in network.dimensions])


class WholeLine(Line):
    """A set of NPUs of a network as one line, whatever links connect them.

    Parameters
    ----------
    network : FluidNetwork
        The network.
    members : sequence of int
        The NPUs, in the order of the line.
    """

    def __init__(self, network: FluidNetwork, members: Sequence[int]) -> None:
        super().__init__(len(members))
        self._network, self._members = network, members

    def _route(self, source: int, target: int) -> Route:
        return self._network.route(self._members[source], self._members[target])

    def bytes_per_ns(self, link: Link) -> float:
        return self._network.bytes_per_ns(link)
