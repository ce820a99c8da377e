"""Lines of linked NPUs, blocks (lines with the rates of their links), and dimensions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["Block", "BlockKind", "Dimension", "Line"]

BlockKind = Literal["ring", "fully_connected", "switch"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of NPUs, or of others that are linked likewise.

    Parameters
    ----------
    kind : str
        ``ring``, ``fully_connected`` or ``switch``.
    npus : int
        NPUs in a line.
    """

    kind: BlockKind
    npus: int

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the positions of directly linked NPUs, each pair once; none with a switch."""
        if self.kind == "ring":
            yield from ((i, (i + 1) % self.npus) for i in range(self.npus - (self.npus == 2)))
        elif self.kind == "fully_connected":
            yield from ((i, j) for j in range(self.npus) for i in range(j))

    @property
    def links(self) -> int:
        """Number of links of a line, those of both directions."""
        pairs = {"ring": self.npus - (self.npus == 2), "switch": self.npus}
        return 2 * pairs.get(self.kind, self.npus * (self.npus - 1) // 2)

    def path(self, source: int, target: int) -> list[int]:
        """Return the positions on the route between two NPUs, without switches.

        On a ring it is the shorter route, and the ascending one if both are as long.
        """
        if self.kind != "ring":
            return [source, target]
        up = (target - source) % self.npus
        step = 1 if 2 * up <= self.npus else -1
        count = min(up, self.npus - up)
        return [(source + step * i) % self.npus for i in range(count + 1)]


@dataclass(frozen=True, slots=True)
class Block(Line):
    """A dimension: the links between the NPUs of each line.

    Parameters
    ----------
    kind, npus
        As of ``Line``.
    bytes_per_s : float
        Bandwidth of each link in each direction [B/s]: between neighbours of a ring, between two
        NPUs that are fully connected, or from an NPU to its switch.
    latency_s : float
        Latency of each link in each direction [s]; counted twice through a switch.
    """

    bytes_per_s: float
    latency_s: float

    @property
    def halves_bytes_per_s(self) -> float:
        """Bandwidth between the first half of a line and the rest, in one direction [B/s]."""
        half = self.npus // 2
        links = {"ring": min(2, self.npus - 1), "switch": half}
        return self.bytes_per_s * links.get(self.kind, half * (self.npus - half))


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of the NPUs of a topology.

    Parameters
    ----------
    npus, stride : int
        NPUs in a line along it, and the difference of their numbers.
    kind : str
        Connection of the NPUs of a line: ``ring``, ``fully_connected``, ``switch``, or ``line`` for
        neighbours without the link that closes a ring.
    bytes_per_s : float
        Payload bandwidth of each link, one direction [B/s]: between neighbours, between two NPUs
        that are fully connected, or from an NPU to its switch.
    efficiency : float
        Share of the bandwidth of a link that is left for payload.
    """

    npus: int
    stride: int
    kind: BlockKind | Literal["line"]
    bytes_per_s: float
    efficiency: float = 1.0

    def place(self, npu: int) -> int:
        """Return the position of an NPU along the dimension."""
        return npu // self.stride % self.npus

    def npu_bytes_per_s(self, members: int) -> float:
        """Return an NPU's bandwidth along the dimension for a collective on part of a line [B/s].

        That is the sum over its links, except in a line without wrap-around: the one link of the
        NPU at the end bounds all.
        """
        links = {"ring": min(2, members - 1), "fully_connected": members - 1}
        return self.bytes_per_s * links.get(self.kind, 1)
