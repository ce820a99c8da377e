"""Agents of AXI4-Streams: monitor of any stream, and packets at the edge of a terminator.

They act at the falling edge: the values on a port then are those that the next rising edge samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fred_hw.protocol import HEADER_BITS
from testbench.models.endpoint import Flit

__all__ = ["Beat", "StreamMonitor"]


@dataclass(frozen=True)
class Beat:
    """A transfer on a stream, with its cycle."""

    cycle: int
    data: int
    user: int
    last: bool

    @property
    def flit(self) -> Flit:
        """The flit of the transfer."""
        header = self.user & ((1 << HEADER_BITS) - 1)
        return Flit(header, self.data, self.user >> HEADER_BITS, self.last)


def bits(handle: Any) -> Callable[[], str]:
    """Return a function that reads a port as text, which ``int`` refuses if bits are undefined."""
    return lambda: str(handle.value)


class StreamMonitor:
    """Monitor of the transfers on a stream; an offered word must be stable until accepted."""

    def __init__(self, dut: Any, prefix: str) -> None:
        self.prefix = prefix
        names = ("tvalid", "tready", "tdata", "tuser", "tlast")
        self._valid, self._ready, *self._payload = (bits(dut[f"{prefix}_{name}"]) for name in names)
        self._held: tuple[int, ...] | None = None
        self.beats: list[Beat] = []

    def forget(self) -> None:
        """Allow an offered word to be withdrawn, as in a reset."""
        self._held = None

    def step(self, cycle: int) -> None:
        """Sample one cycle."""
        if not int(self._valid(), 2):
            assert self._held is None, f"{self.prefix}: {self._held} was withdrawn"
            return
        now = tuple(int(one(), 2) for one in self._payload)
        assert self._held in (None, now), f"{self.prefix}: {self._held} became {now}"
        self._held = None if int(self._ready(), 2) else now
        if self._held is None:
            self.beats.append(Beat(cycle, now[0], now[1], bool(now[2])))
