"""Cycle-level packets of a ring member, retransmitted if no ack arrives in time.

A less urgent ring may have to wait for so long that packets which are on their way are sent once
more (docs/reference/protocol.md). Whoever expects other ones drops them, but links carry them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from perfmodel.clock import Clock

from .go_back import GoBack
from .packets import Packet

__all__ = ["Flow"]


class _Kept(NamedTuple):
    """Number of flits of a packet, and the function to call when its first flit arrives."""

    flits: int
    came: Callable[[Packet], object]


class Flow(GoBack):
    """Packets in the order in which they are read, numbered from 0.

    Parameters
    ----------
    clock : Clock
        The time [cycles].
    timeout_cycles, window : int
        Time without progress after which packets are sent again, and largest number of packets that
        are not acknowledged.
    circuit, path : int, sequence of int
        Virtual channel and links of all packets.
    send : callable
        Called with the next packet, which gets its number when it starts.
    """

    def __init__(
        self,
        clock: Clock[float],
        timeout_cycles: int,
        window: int,
        circuit: int,
        path: Sequence[int],
        send: Callable[[Packet], object],
    ) -> None:
        super().__init__(clock, timeout_cycles)
        self._circuit, self._path, self._send, self._window = circuit, path, send, window
        self._packets: list[_Kept] = []

    def add(self, flits: int, came: Callable[[Packet], object]) -> None:
        """Append a packet to the flow."""
        self._packets.append(_Kept(flits, came))
        self._count += 1
        self._next()

    def heard(self, number: int) -> None:
        """Handle an ack; ``number`` is the next expected packet."""
        if number > self._oldest:
            self._progress(number)
            self._next()

    def _next(self) -> None:
        full = self._following - self._oldest >= self._window
        if self._following < self._count and not self._offered and not full:
            self._offered = True
            flits = self._packets[self._following].flits
            self._send(Packet(self._circuit, flits, self._path, self._come, self._starts))

    def _come(self, packet: Packet) -> None:
        self._packets[packet.number].came(packet)

    def _starts(self, packet: Packet) -> None:
        packet.number = self.start()
        packet.flits = self._packets[packet.number].flits
