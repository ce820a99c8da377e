"""The network of our own simulation: dimensions that stack, each a block or a fabric of ours."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from perfmodel.astra.network import Shape

from .lines import Line, Link, Way

if TYPE_CHECKING:
    from perfmodel.topology.graph import Topology

__all__ = ["FluidNetwork", "WholeLine"]

_WAYS = 1 << 16


class FluidNetwork(Shape):
    """NPUs in one dimension or more.

    A link is known by its dimension, the first NPU of its line, and what the line calls it.

    Parameters
    ----------
    lines : sequence of Line
        What joins the NPUs of each line along a dimension, the innermost first.

    Raises
    ------
    ValueError
        There is no dimension.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__([one.npus for one in lines])
        self.lines = tuple(lines)
        self.way = lru_cache(_WAYS)(self._way)

    @property
    def fabric(self) -> "Topology | None":
        """The fabric of ours, if the network is one and nothing else."""
        (first, *others) = self.lines
        return None if others else first.fabric

    def _way(self, source: int, target: int) -> Way:
        """Return the way between two NPUs, through each dimension in which they differ."""
        here, links, latency_ns = source, list[Link](), 0.0
        for number, line in enumerate(self.lines):
            places = self.place(here, number), self.place(target, number)
            if places[0] == places[1]:
                continue
            first = here - places[0] * self.strides[number]
            way = line.way(*places)
            links.extend((number, first, one) for one in way.links)
            latency_ns += way.latency_ns
            here = first + places[1] * self.strides[number]
        return Way(tuple(links), latency_ns)

    def bytes_per_ns(self, link: Link) -> float:
        """Return the rate of a link [bytes per ns]."""
        number, _, one = cast("tuple[int, int, Link]", link)
        return self.lines[number].bytes_per_ns(one)


class WholeLine(Line):
    """Some NPUs of a network as one line, whatever joins them.

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

    def _way(self, source: int, target: int) -> Way:
        return self._network.way(self._members[source], self._members[target])

    def bytes_per_ns(self, link: Link) -> float:
        """Return the rate of a link [bytes per ns]."""
        return self._network.bytes_per_ns(link)
