"""Networks of ASTRA-sim: stacked dimensions, and the delay of a message on an idle network.

From the sources of astra-network-analytical. A gigabyte per second is 2^30 bytes per second, and
times are cut to whole nanoseconds where a message arrives, in the order in which it is done there,
so that they agree to the nanosecond.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from perfmodel.network.analytical.links import Wire
from perfmodel.topology.block import Block, BlockKind

if TYPE_CHECKING:
    from perfmodel.topology.graph import Topology

__all__ = ["Dimension", "Hop", "Network", "Shape"]

Hop = tuple[int, int, int, int]
"""A link: its dimension, the first NPU of its line, and the positions at its ends; -1 is the
switch."""


@dataclass(frozen=True)
class Dimension:
    """A dimension: the links between the NPUs of each line.

    Parameters
    ----------
    kind : str
        ``ring``, ``fully_connected`` or ``switch``.
    npus : int
        NPUs in a line, 2 or more.
    bandwidth : float
        Bandwidth of each link in each direction, above 0 [2^30 bytes per second].
    latency_ns : float
        Latency of each link [ns], 0 or more; counted twice through a switch.
    """

    kind: BlockKind
    npus: int
    bandwidth: float
    latency_ns: float

    @cached_property
    def bytes_per_ns(self) -> float:
        """Bandwidth of a link in each direction [bytes per ns]."""
        return self.bandwidth * (1 << 30) / 1_000_000_000

    @cached_property
    def block(self) -> Block:
        """The dimension as a block of ``perfmodel.topology.blocks``."""
        return Block(self.kind, self.npus, self.bandwidth * (1 << 30), self.latency_ns * 1e-9)

    def hops(self, source: int, target: int) -> int:
        """Return the number of links between two positions of a line."""
        if self.kind == "ring":
            up = (target - source) % self.npus
            return min(up, self.npus - up)
        return 2 if self.kind == "switch" else 1

    def wire(self, hops: int = 1) -> Wire:
        """Return successive links as one wire, which a message crosses without waiting."""
        return Wire(hops * self.latency_ns, self.bytes_per_ns)

    def route(self, source: int, target: int) -> list[int]:
        """Return the positions on the route between two positions, inclusive; -1 is the switch."""
        if self.kind == "switch":
            return [source, -1, target]
        return self.block.path(source, target)


class Shape:
    """Number of NPUs along each dimension, the innermost first.

    Parameters
    ----------
    sizes : sequence of int
        NPU ``d0 + n0 * (d1 + n1 * ...)`` is at place d0 of the first.

    Raises
    ------
    ValueError
        There are no dimensions.
    """

    fabrics: "Sequence[Topology]" = ()
    """The built-in fabrics among the dimensions."""

    def __init__(self, sizes: Sequence[int]) -> None:
        if not sizes:
            raise ValueError("dimensions must be one or more, not none")
        self.sizes = tuple(sizes)
        self.strides = tuple(prod(self.sizes[:i]) for i in range(len(self.sizes)))
        self.npus = prod(self.sizes)

    @property
    def fabric(self) -> "Topology | None":
        """The built-in fabric, if the network consists of nothing else."""
        return self.fabrics[0] if self.fabrics and len(self.sizes) == 1 else None

    def joins(self, dimension: int) -> Dimension | None:
        """Return the links along a dimension; None if the dimension is a fabric."""
        return None

    def place(self, npu: int, dimension: int) -> int:
        """Return the position of an NPU along a dimension."""
        return npu // self.strides[dimension] % self.sizes[dimension]

    def crossings(self, source: int, target: int) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield the dimensions that a route crosses, the innermost first.

        Each is its number, the NPU at the first place of the line there, and the places.
        """
        here = source
        for number, stride in enumerate(self.strides):
            places = self.place(here, number), self.place(target, number)
            if places[0] != places[1]:
                first = here - places[0] * stride
                yield number, first, places
                here = first + places[1] * stride

    def address(self, npu: int) -> tuple[int, ...]:
        """Return the positions of an NPU, the innermost dimension first."""
        return tuple(self.place(npu, one) for one in range(len(self.sizes)))


class Network(Shape):
    """NPUs in one or more dimensions, connected as in ASTRA-sim.

    Parameters
    ----------
    dimensions : sequence of Dimension
        The innermost first.

    Raises
    ------
    ValueError
        There are no dimensions.
    """

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        super().__init__([one.npus for one in dimensions])
        self.dimensions = tuple(dimensions)

    def joins(self, dimension: int) -> Dimension | None:
        return self.dimensions[dimension]

    def crossing(self, source: int, target: int) -> tuple[Dimension, int]:
        """Return the first dimension in which two NPUs differ, and the number of links there.

        ASTRA-sim's model without congestion sends over that one alone.

        Raises
        ------
        ValueError
            Both are the same NPU.
        """
        for number, _, places in self.crossings(source, target):
            return self.dimensions[number], self.dimensions[number].hops(*places)
        raise ValueError(f"source and target must be two NPUs, not {source} both")

    def delay_ns(self, source: int, target: int, message_bytes: int) -> int:
        """Return the delay of a message between two NPUs on an idle network [ns]."""
        dimension, hops = self.crossing(source, target)
        return dimension.wire(hops).arrival_ns(message_bytes)

    def route(self, source: int, target: int) -> Iterator[Hop]:
        """Yield the links from one NPU to another, through all dimensions in which they differ."""
        for number, first, places in self.crossings(source, target):
            route = self.dimensions[number].route(*places)
            yield from ((number, first, a, b) for a, b in pairwise(route))
